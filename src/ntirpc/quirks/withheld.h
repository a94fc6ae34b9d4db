/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * withheld - replace operations that Ganesha executes wrongly, before it sees them
 *
 * Operations that Ganesha does not support, but answers wrongly. They get NFS4ERR_NOTSUPP
 * (RFC 8881, 15.1.1.5; RFC 7862, 15.10), and Linux' client does without them:
 *
 *   GET_DIR_DELEGATION   Sent by Linux since 6.19. Ganesha before 9.11 answers as if to
 *                        OP_ILLEGAL (issue 1385), and Linux reports "Remote I/O error"
 *                        or misses names of a directory.
 *   READ_PLUS            Sent by Linux where it is built so, as Debian's since 6.12,
 *                        except for its own RDMA mounts; so it comes through the
 *                        gateway. Ganesha 4.3 and 5.9 answer with no data and the end of
 *                        the file. 6.5 answers with NFS4ERR_NOTSUPP itself.
 *   LAYOUTERROR,         Sent by pNFS clients. Ganesha reads other arguments than those
 *   LAYOUTSTATS          of RFC 7862, and only logs one or two lines for each, by
 *                        default and without a limit.
 *
 * State of another client than the session's, or than that of earlier operations:
 * Ganesha does not check whose a stateid is. The operation gets NFS4ERR_BAD_STATEID
 * (RFC 8881, 18.38.3). In TEST_STATEID (18.48.3) such stateids are replaced by one that
 * nobody has. State of an earlier instance of the server is not replaced in 4.0:
 * Ganesha refuses it with the status that tells the client to recover.
 *
 * Replies with file data that Ganesha keeps: it gives the data of READ and READDIR away
 * with the first Reply. If the Call comes again, it answers without them or uses freed
 * memory. With a session, it sees a SEQUENCE that does not ask to keep the Reply: the
 * repetition gets NFS4ERR_RETRY_UNCACHED_REP, also if the Call came over TCP first. In
 * NFSv4.0 it keeps the Reply of a COMPOUND that creates something. Of what creates and
 * what reads, the second gets NFS4ERR_RESOURCE (RFC 7530, 13).
 *
 * In 6.5, an NFSv3 READ of nothing, and an NFSv4.0 lock that is granted to a client that
 * has waited for it. The READ becomes one of an octet behind the end of any file, and
 * eof in its results is corrected. READW_LT and WRITEW_LT become READ_LT and WRITE_LT: a
 * client tries again by itself (RFC 7530, 9.4).
 *
 * The first such operation of a COMPOUND becomes OP_ILLEGAL and its last one. In the
 * results, NFS4ERR_OP_ILLEGAL becomes the right status, under the operation's number.
 *
 * A COMPOUND that cannot be read to its end would be executed unchecked, if Ganesha
 * could read it; as far as is known it cannot. It gets a number of operations that
 * Ganesha refuses with GARBAGE_ARGS.
 */
#ifndef RPCRDMA_NTIRPC_WITHHELD_H
#define RPCRDMA_NTIRPC_WITHHELD_H

#include <rpc/xdr.h>

struct nrt_call;

/* Replace in the arguments of @nc what Ganesha must not see. The arguments are as for
 * nrt_args_find(). */
void nrt_withheld_check(struct nrt_call *nc, XDR *xdrs, void *what,
			size_t length);
/* Returns true if @results are those that Ganesha has kept from a Call over TCP, and
 * their data are gone. */
bool nrt_withheld_replayed(const struct nrt_call *nc, const void *results);
/* An xdrproc_t: encode NFS4ERR_RETRY_UNCACHED_REP instead of these. */
bool nrt_withheld_uncached(XDR *xdrs, void *results);
/* An xdrproc_t: encode the results of a struct nrt_results, whose Call is_empty_read. */
bool nrt_withheld_empty_read(XDR *xdrs, void *results);
/* Put the right status into the results of @nc, from position @at on. Returns false if
 * they cannot be changed. */
bool nrt_withheld_correct(const struct nrt_call *nc, XDR *xdrs, u_int at);

#endif /* RPCRDMA_NTIRPC_WITHHELD_H */
