/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For cppcheck, which does not read the headers of the system: the loops of
 * <urcu/list.h> and <sys/queue.h>.
 */
#define caa_container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))
#define cds_list_for_each_entry(e, head, member)                         \
	for (e = caa_container_of((head)->next, __typeof__(*e), member); \
	     &e->member != (head);                                       \
	     e = caa_container_of(e->member.next, __typeof__(*e), member))
#define cds_list_for_each_entry_safe(e, next_e, head, member)                  \
	for (e = caa_container_of((head)->next, __typeof__(*e), member),       \
	    next_e = caa_container_of(e->member.next, __typeof__(*e), member); \
	     &e->member != (head);                                             \
	     e = next_e, next_e = caa_container_of(next_e->member.next,        \
						   __typeof__(*e), member))
#define TAILQ_FOREACH(e, head, field) \
	for (e = (head)->tqh_first; e; e = e->field.tqe_next)
