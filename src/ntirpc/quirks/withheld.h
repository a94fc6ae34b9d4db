/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * withheld - operations of NFSv4 that Ganesha is not shown
 *
 * An operation that is defined but not offered is answered with NFS4ERR_NOTSUPP
 * (RFC 8881, 15.1.1.5; RFC 7862, 15.10), and Linux' client then does without.
 * What Ganesha does with some of them it cannot do with:
 *
 *   GET_DIR_DELEGATION   Linux since 6.19, when it reads a directory's
 *                        attributes. Ganesha before 9.11 has OP_ILLEGAL for
 *                        an answer (its issue 1385), which Linux takes for
 *                        one to something else: "Remote I/O error", names
 *                        that are missing from a directory
 *   READ_PLUS            Linux where it is built so, Debian's since 6.12, but
 *                        for what it has mounted by RDMA itself: through the
 *                        gateway, therefore. The answer of Ganesha 4.3 and 5.9
 *                        has no data and says that this is the end of the
 *                        file; 6.5 has none to give, and says so
 *   LAYOUTERROR,         of pNFS clients. Ganesha reads the arguments otherwise
 *   LAYOUTSTATS          than RFC 7862 has them, and all it does with them is to
 *                        write one or two lines into its log for each, at a
 *                        level that is shown by default and without a limit
 *
 * Nor can it with state of another client than that of the session, or than that of
 * the operations before: it does not look whose a stateid is. The status of such an
 * operation is NFS4ERR_BAD_STATEID (RFC 8881, 18.38.3). TEST_STATEID says so of each
 * stateid (18.48.3): there, those of others are made into one that nobody has.
 * In 4.0, state of an earlier instance of the server is shown: Ganesha refuses it by
 * itself, with the status by which the client learns that it has to recover.
 *
 * Nor can it with Replies that it keeps and that have file data: it gives the data of
 * READ and READDIR away with the first Reply and, when the Call comes again, answers
 * without them or uses memory that it has freed. With a session it is shown a
 * SEQUENCE that does not ask to keep the Reply: the Call that comes again gets
 * NFS4ERR_RETRY_UNCACHED_REP. So it does if it came by TCP before. In NFSv4.0 it keeps
 * the Reply of a COMPOUND that creates something. That gets NFS4ERR_RESOURCE for
 * whatever comes second of what creates and what reads (RFC 7530, 13); what comes again
 * may be read again.
 *
 * Nor can 6.5 with a READ of nothing by NFSv3, and with a lock of NFSv4.0 that it grants
 * to a client that has waited for it. So it is shown a READ of an octet behind the end
 * of any file, and eof in the results is put right; and READ_LT for READW_LT, WRITE_LT
 * for WRITEW_LT, which ask to wait: a client tries again by itself (RFC 7530, 9.4).
 *
 * None of these is shown to Ganesha. The first in a COMPOUND becomes
 * OP_ILLEGAL, and the last of its operations, since after one that fails nothing
 * is executed; and in the Reply, NFS4ERR_OP_ILLEGAL becomes the status under the
 * operation's own number.
 *
 * A COMPOUND that cannot be read to its end would be executed without a look at
 * what is in the rest, if Ganesha could read it. As far as is known it cannot; it
 * is made sure by a number of operations that Ganesha does not take. The Call is
 * answered with GARBAGE_ARGS, then.
 *
 * As in bound.h, the arguments are changed where ntirpc sums them up, and the
 * results before RPCSEC_GSS covers them.
 *
 * Threads: those of the Call.
 */
#ifndef RPCRDMA_NTIRPC_WITHHELD_H
#define RPCRDMA_NTIRPC_WITHHELD_H

#include <rpc/xdr.h>

struct nrt_call;

/* Before the arguments of @nc are decoded, as nrt_bound_check(). */
void nrt_withheld_check(struct nrt_call *nc, XDR *xdrs, void *what,
			size_t length);
/*
 * Returns true if Ganesha answers @nc with @results that it kept from another
 * transport, and their data are gone: nrt_withheld_uncached() encodes an answer in
 * their place.
 */
bool nrt_withheld_replayed(const struct nrt_call *nc, const void *results);
bool nrt_withheld_uncached(XDR *xdrs, void *results);
/* An xdrproc_t: encode the results of a struct nrt_results, whose Call is_empty_read. */
bool nrt_withheld_empty_read(XDR *xdrs, void *results);
/* The results of @nc stand behind @at. False: they cannot be changed. */
bool nrt_withheld_correct(const struct nrt_call *nc, XDR *xdrs, u_int at);

#endif /* RPCRDMA_NTIRPC_WITHHELD_H */
