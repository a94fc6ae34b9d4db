# SPDX-License-Identifier: BSD-3-Clause
"""Credits: 4.2.1, 4.2.1.1."""

from . import rpc, v2
from .kit import check, expect, good, is_error, same
from .nfs import read_call, read_inline, read_results


def spend(c, n):
    """@n messages that need no answer."""
    for _ in range(n):
        c.raw(c.new_xid(), 2, None, v2.ERROR, 99)


def ask(t, c, count, **more):
    """Ask for @count octets, which come back continued."""
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=read_call(t, x, (0, count)), **more)
    return x


def finish(t, c, x, count):
    a = good(c.answer(x))
    same(read_results(a.payload, False)[0], t.files.content[:count], "data")
    return a


# Fails with: credit-of-sent
@check("V2-4.2.1-01")
def every_message_counts(t):
    """Each message, of whatever type, moves the limit by one."""
    c = t.connect()
    base = c.null().last.credit
    before = c.sent
    c.raw(1, 2, None, v2.ERROR, 99)
    c.post(v2.GRANT, 0)
    c.raw(1, 2, None, 77)  # INVAL_HTYPE
    c.put(bytes(8))  # too short to be looked at
    x = c.new_xid()
    c.post(v2.CALL_MIDDLE, x, remaining=40, payload=rpc.null(x)[:4])
    c.post(v2.CALL_INLINE, x, payload=rpc.null(x)[4:])
    is_error(c.take(), v2.INVAL_HTYPE)
    c.answer(x)
    after = c.null().last.credit
    same(v2.ahead(after, base), c.sent - before, "the step of the limit")


# Fails with: credit-carried-over
@check("V2-4.2.1-02", "V2-4.2.1-03")
def counts_begin_at_zero(t):
    """A new connection carries nothing over: limits are as on the first."""
    first = []
    for _ in range(3):
        c = t.connect()
        first.append(c.seen[0].credit)
        for _ in range(5):
            c.null()
        c.iw.close()
    same(len(set(first)), 1, "first limits %r" % first)
    expect(1 < first[0] < 0x10000, "the first limit is %d" % first[0])


# Fails with: credit-highest, credit-ignored
@check("V2-4.2.1-05", "V2-4.2.1-08")
def newest_limit_counts(t):
    """A lower limit replaces a higher one: so many messages, then none."""
    t.files
    c = t.connect(advertise=40, replenish=False)
    for more in 1, 2, 3:
        x = ask(t, c, 60000, credit=c.received + more)
        for _ in range(more):
            c.backlog.append(c.next())
        expect(c.iw.quiet(0.4), "more than %d messages" % more)
        c.grant()
        finish(t, c, x, 60000)


# Fails with: receive-missing, receive-spare
@check("V2-4.2.1-06", "V2-4.2.1.1-05", "V2-4.2.1.1-06")
def receives_for_all(t):
    """As many messages as were announced, and one GRANT, can come at once."""
    c = t.connect()
    n = v2.ahead(c.limit, c.sent)
    expect(n > 0, "no credits")

    def all_of_it():
        for _ in range(n):
            c.put(rpc.u32(1, 2, c.credit(), v2.ERROR, 99))
        c.put(rpc.u32(0, 2, c.credit() + 1, v2.GRANT))
        c.told = c.credit() + 1

    # At once, so that nothing can be posted in between.
    c.iw.in_one_write(all_of_it)
    c.null()


# Fails with: receive-literal
@check("V2-4.2.1-13")
def two_beyond(t):
    """A peer that reads 4.2.1 to the letter sends one message beyond its
    limit, and a GRANT: both are taken. [A2], [A5]"""
    for _ in range(3):
        c = t.connect()

        def all_of_it():
            for _ in range(v2.ahead(c.limit, c.sent)):
                c.put(rpc.u32(1, 2, c.credit(), v2.ERROR, 99))
            for _ in range(2):
                c.put(rpc.u32(0, 2, c.credit() + 2, v2.GRANT))
            c.told = c.credit() + 2

        c.iw.in_one_write(all_of_it)
        c.null()


# Fails with: credit-of-sent
@check("V2-4.2.1-07")
def limit_on_the_right_scale(t):
    """A Reply of many messages does not raise the limit. [A1]"""
    c = t.connect(advertise=60, replenish=False)
    most = v2.ahead(c.null().last.credit, c.sent)
    a = read_inline(t, c, 0, 100000)
    expect(len(a.headers) > 20, "a Reply of %d messages" % len(a.headers))
    for h in a.headers:
        expect(v2.ahead(h.credit, c.sent) <= most,
               "%s: %d more than has been sent" % (
                   h, v2.ahead(h.credit, c.sent)))
    # And streaming the other way, the limit follows.
    a = good(c.call(rpc.compound(c.new_xid(), [
        rpc.putfh(t.files.scratch), rpc.write(0, bytes(100000))])))
    expect(c.sent > 20, "a Call of %d messages" % c.sent)
    for h in a.headers:
        expect(0 < v2.ahead(h.credit, c.sent) <= most, str(h))


# Fails with: credit-unsigned
@check("V2-4.2.1-10")
def far_limits(t):
    """A limit 2^31 or more ahead gives no permission; 2^31 - 2 does."""
    c = t.connect(replenish=False)
    for far in 0x80000000, 0xffffffff, 0xffffff00:
        x = ask(t, c, 40, credit=(c.received + far) & 0xffffffff)
        expect(t.quiet(c, 0.4), "an answer with a limit %#x ahead" % far)
        c.grant(credit=c.received + 32)
        finish(t, c, x, 40)
    x = ask(t, c, 60000, credit=(c.received + 0x7ffffffe) & 0xffffffff)
    finish(t, c, x, 60000)


# Fails with: credit-first
@check("V2-4.2.1-11")
def changing_credits(t):
    """A peer that changes its Advertised credits all the time is obeyed."""
    c = t.connect(replenish=True)
    for n in 2, 50, 3, 100, 2, 8, 1, 30:
        c.advertise = n
        c.grant()
        read_inline(t, c, 0, 30000)


# Fails with: reads-too-many
@check("V2-4.2.1-12")
def read_depth(t):
    """RDMA Reads outstanding stay within the depth of the connection."""
    for depth in 1, 3:
        c = t.raw(ird=depth, ord_=1)
        c.hello()
        payload = rpc.null(c.new_xid())
        c.iw.hold_reads = True
        lists = c.read_chunk(0, payload, (4, 8, 12, 16, 20, 24))
        c.post(v2.CALL_EXTERNAL, c.xid, call=lists)
        served = 0
        while served < len(lists):
            c.iw.pump_until(lambda: c.iw.held)
            t.quiet(c, 0.1)  # more than it may
            expect(len(c.iw.held) <= depth, "%d Reads outstanding with %d" %
                   (len(c.iw.held), depth))
            served += len(c.iw.held)
            c.iw.release_reads()
        good(c.answer(c.xid))


# Fails with: grant-late, grant-never, grant-xid
@check("V2-4.2.1.1-01", "V2-4.2.1.1-04", "V2-6.1-02", "V2-6.3.2-01")
def refreshed_in_time(t):
    """Fragments alone are refreshed by GRANTs before all credits are used."""
    c = t.connect()
    x, left = c.new_xid(), 500
    message = rpc.compound(x, [rpc.u32(rpc.PUTROOTFH)], bytes(4 * left))
    grants, at, spent = 0, 0, 0
    window = v2.ahead(c.limit, c.sent)
    while left:
        left -= 1
        c.post(v2.CALL_MIDDLE, x, force=True, payload=message[at:at + 4],
               remaining=len(message) - at - 4)
        at += 4
        spent += 1
        if spent >= window // 2 + 1:
            h = c.next()
            same((h.htype, h.size, h.xid), (v2.GRANT, 16, 0), "a refresh")
            expect(v2.ahead(h.credit, c.sent) > window // 2,
                   "a refresh by %d" % v2.ahead(h.credit, c.sent))
            grants, spent = grants + 1, 0
    c.post(v2.CALL_INLINE, x, payload=message[at:])
    good(c.answer(x))
    expect(grants > 2, "%d GRANTs" % grants)


# Fails with: grant-lost
@check("V2-4.2.1.1-07")
def grants_refreshed(t):
    """GRANTs alone are refreshed too, before all credits are used, and by
    half as many at most."""
    for advertise in 3, 1000:
        c = t.connect(advertise=advertise, replenish=False)
        c.null()
        window = v2.ahead(c.limit, c.sent)
        expect(window > 1, "a window of %d" % window)
        before = len(c.seen)
        for n in range(6 * window):
            if not c.can_send():
                c.backlog.append(c.next())
            expect(c.can_send(), "no credits after %d GRANTs" % n)
            c.post(v2.GRANT, 0, force=True)
        # What is on its way comes before this.
        c.null()
        spent, got = 6 * window, c.seen[before:]
        back = [h for h in got if h.htype == v2.GRANT]
        same(len(got) - len(back), 1, "messages that are no GRANT")
        expect(3 <= len(back) <= spent // 2, "%d GRANTs for %d" %
               (len(back), spent))
        expect(t.quiet(c, 0.2), "a GRANT after the last")


# Fails with: credit-highest, credit-ignored, grant-ignored
@check("V2-4.2.1.1-02", "V2-4.2.1.1-03")
def no_credits(t):
    """With a grant of zero nothing is sent; a GRANT lets it go on."""
    c = t.connect(replenish=False)
    for _ in range(3):
        x = ask(t, c, 40, credit=c.received)
        expect(t.quiet(c, 0.4), "an answer without a credit")
        c.grant(credit=c.received + 1)
        finish(t, c, x, 40)


# Fails with: grant-xid-wanted
@check("V2-6.3.2-02")
def grant_xid_ignored(t):
    """The xid of a GRANT is ignored, also that of a Call in progress."""
    c = t.connect(replenish=False)
    x = ask(t, c, 40000, credit=c.received + 1)
    c.backlog.append(c.next())
    for xid in x, 0xffffffff:
        c.post(v2.GRANT, xid, credit=c.received + 1, force=True)
        c.backlog.append(c.next())
    c.grant(credit=c.received + 40)
    finish(t, c, x, 40000)


# Fails with: credit-ignored
@check("V2-4.2-02")
def flood_of_grants(t):
    """A peer that floods GRANTs within its credits does no harm; and what it
    cannot take it is not sent: three messages, of 4096 octets each."""
    t.files
    c = t.connect(advertise=3, replenish=False)
    for _ in range(300):
        c.await_credit()
        c.post(v2.GRANT, 0)
        if c.sent % 8 == 0:
            c.null()
    x = ask(t, c, 30000)
    c.backlog += [c.next() for _ in range(3)]
    expect(c.iw.quiet(0.3), "more than three messages")
    c.advertise = 32
    c.grant()
    a = finish(t, c, x, 30000)
    expect(max(h.size for h in a.headers) == 4096, "none of 4096 octets")


# Fails with: credit-unsigned
@check("V2-4.2.1-09")
def modulo(t):
    """Limits around 2^31 and 2^32 are compared modulo 2^32."""
    c = t.connect(replenish=False)
    # Forward to the far end of what is permission, and from there back to
    # what, as a signed difference, lies behind.
    for ahead, allowed in ((0x7ffffff0, True), (0x7ffffffe, True),
                           (0x80000001, False), (0xfffffff0, False),
                           (0xffffffff, False), (0, False), (1, True)):
        x = ask(t, c, 16, credit=(c.received + ahead) & 0xffffffff)
        if not allowed:
            expect(t.quiet(c, 0.3), "an answer with a limit %#x ahead" % ahead)
            c.grant(credit=c.received + 1)
        finish(t, c, x, 16)
