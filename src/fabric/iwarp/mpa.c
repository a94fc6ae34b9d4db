/* SPDX-License-Identifier: BSD-3-Clause */
/* mpa - encoding and decoding of MPA start-up frames */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/param.h>

#include "base/addr.h"
#include "ddp.h"
#include "mpa.h"

/* Flags in the octet after the key. */
#define F_MARKERS 0x80u
#define F_CRC 0x40u
#define F_REJECT 0x20u
#define F_ENHANCED 0x10u
/* Flags in the two control words of revision 2. */
#define F_P2P 0x8000u
#define F_RTR_SEND 0x4000u
#define F_RTR_WRITE 0x8000u
#define F_RTR_READ 0x4000u

#define KEY_LEN 16u

static const char key_request[] = "MPA ID Req Frame";
static const char key_reply[] = "MPA ID Rep Frame";

int iw_mpa_encode(uint8_t *buf, const struct mpa_frame *f)
{
	size_t ctrl = f->enhanced ? MPA_V2_CTRL : 0;
	uint8_t *p = buf;

	if (f->priv_len > MPA_MAX_PD - ctrl || (f->priv_len && !f->priv) ||
	    f->ird > MPA_DEPTH_NONE || f->ord > MPA_DEPTH_NONE)
		return -EINVAL;
	memcpy(p, f->reply ? key_reply : key_request, KEY_LEN);
	p[16] = (uint8_t)((f->markers ? F_MARKERS : 0u) |
			  (f->crc ? F_CRC : 0u) | (f->reject ? F_REJECT : 0u) |
			  (f->enhanced ? F_ENHANCED : 0u));
	p[17] = f->rev;
	be16_put(p + 18, (uint16_t)(f->priv_len + ctrl));
	p += MPA_FRAME_HDR;
	if (f->enhanced) {
		be16_put(p, (uint16_t)(f->ird | (f->p2p ? F_P2P : 0u) |
				       (f->rtr_send ? F_RTR_SEND : 0u)));
		be16_put(p + 2,
			 (uint16_t)(f->ord | (f->rtr_write ? F_RTR_WRITE : 0u) |
				    (f->rtr_read ? F_RTR_READ : 0u)));
		p += MPA_V2_CTRL;
	}
	if (f->priv_len)
		memcpy(p, f->priv, f->priv_len);
	return (int)(MPA_FRAME_HDR + ctrl + f->priv_len);
}

int iw_mpa_decode(const uint8_t *buf, size_t len, bool reply,
		  struct mpa_frame *f, size_t *need)
{
	const char *key = reply ? key_reply : key_request;
	uint16_t pd_len, ird, ord;

	/* Refuse garbage as early as possible. */
	if (memcmp(buf, key, MIN(len, KEY_LEN)))
		return -EPROTO;
	*need = MPA_FRAME_HDR;
	if (len < MPA_FRAME_HDR)
		return 0;
	pd_len = be16_get(buf + 18);
	if (pd_len > MPA_MAX_PD)
		return -EPROTO;
	*need = MPA_FRAME_HDR + pd_len;
	if (len < *need)
		return 0;

	memset(f, 0, sizeof(*f));
	f->reply = reply;
	f->markers = buf[16] & F_MARKERS;
	f->crc = buf[16] & F_CRC;
	f->reject = buf[16] & F_REJECT;
	f->rev = buf[17];
	f->priv = buf + MPA_FRAME_HDR;
	f->priv_len = pd_len;
	f->ird = f->ord = MPA_DEPTH_NONE;
	/* In revision 1 the flag is reserved, thus ignored. */
	if (f->rev < 2 || !(buf[16] & F_ENHANCED))
		return (int)*need;
	if (pd_len < MPA_V2_CTRL) {
		/* A peer without control words may reject; there is nothing to
		 * negotiate. */
		return f->reject ? (int)*need : -EPROTO;
	}
	ird = be16_get(buf + MPA_FRAME_HDR);
	ord = be16_get(buf + MPA_FRAME_HDR + 2);
	f->enhanced = true;
	f->p2p = ird & F_P2P;
	f->rtr_send = ird & F_RTR_SEND;
	f->rtr_write = ord & F_RTR_WRITE;
	f->rtr_read = ord & F_RTR_READ;
	f->ird = ird & MPA_DEPTH_NONE;
	f->ord = ord & MPA_DEPTH_NONE;
	f->priv += MPA_V2_CTRL;
	f->priv_len -= MPA_V2_CTRL;
	return (int)*need;
}

bool iw_mpa_same_machine(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b)
{
	return (a->ss_family == b->ss_family && base_addr_is_loopback(a) &&
		base_addr_is_loopback(b)) ||
	       base_addr_same(a, b);
}
