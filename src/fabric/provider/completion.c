/* SPDX-License-Identifier: BSD-3-Clause */
/* completion - work that is complete, until it is polled for */
#include <string.h>

#include "fabric/provider/completion.h"

void fab_complete(struct fab_completions *done, struct fab_wr *wr,
		  enum fab_status status)
{
	wr->priv[WR_DONE] = (uint64_t)status;
	wr_append(&done->work, wr);
}

void fab_complete_list(struct fab_completions *done, struct wr_list *list,
		       enum fab_status status)
{
	struct fab_wr *wr;

	while ((wr = wr_take(list)))
		fab_complete(done, wr, status);
}

void fab_complete_message(struct fab_completions *done, struct fab_wr *wr,
			  size_t len, const uint32_t *inv)
{
	fab_complete(done, wr, FAB_OK);
	wr->priv[WR_LEN] = len;
	wr->priv[WR_INV] = inv ? *inv : 0;
	if (inv)
		wr->priv[WR_DONE] |= WRD_INVALIDATED;
}

static void work(struct fab_wc *wc, struct fab_wr *wr)
{
	*wc = (struct fab_wc){
		.kind = FAB_WC_WORK,
		.status = (enum fab_status)(wr->priv[WR_DONE] & WRD_STATUS),
		.wr = wr,
	};
	if (wr->op != FAB_RECV || wc->status != FAB_OK)
		return;
	wc->len = wr->priv[WR_LEN];
	wc->invalidated = wr->priv[WR_DONE] & WRD_INVALIDATED;
	wc->inv_handle = (uint32_t)wr->priv[WR_INV];
	wc->memory = (void *)(uintptr_t)wr->priv[WR_MEMORY];
}

int fab_completions_take(struct fab_completions *done, struct fab_wc *wc, int n)
{
	struct fab_wr *wr;
	int got = 0;

	if (got < n && done->established) {
		done->established = false;
		wc[got++] = (struct fab_wc){
			.kind = FAB_WC_ESTABLISHED,
			.priv = done->priv,
			.priv_len = done->priv_len,
		};
	}
	while (got < n && (wr = wr_take(&done->work)))
		work(&wc[got++], wr);
	return got;
}

int fab_completions_end(struct fab_completions *done, struct fab_wc *wc, int n)
{
	if (!n || !done->ended || done->end_told)
		return 0;
	done->end_told = true;
	*wc = (struct fab_wc){
		.kind = FAB_WC_DISCONNECTED,
		.error = done->error,
		.reason = done->reason,
	};
	return 1;
}
