/* SPDX-License-Identifier: BSD-3-Clause */
#include "auth_jobs.h"

#include <stdatomic.h>
#include <stdbool.h>

struct rt_auth_job;
struct rt_conn;
struct rt_mail;

void __real_rt_auth_pool_submit(struct rt_auth_job *job);
void __wrap_rt_auth_pool_submit(struct rt_auth_job *job);
bool __real_rt_auth_pool_cancel(struct rt_auth_job *job);
bool __wrap_rt_auth_pool_cancel(struct rt_auth_job *job);
void __real_rt_auth_result(struct rt_conn *c, struct rt_mail *m);
void __wrap_rt_auth_result(struct rt_conn *c, struct rt_mail *m);

/* A result may be taken by a thread of the pool, if the connection has ended. */
static atomic_uint jobs;

void __wrap_rt_auth_pool_submit(struct rt_auth_job *job)
{
	jobs++;
	__real_rt_auth_pool_submit(job);
}

bool __wrap_rt_auth_pool_cancel(struct rt_auth_job *job)
{
	bool cancelled = __real_rt_auth_pool_cancel(job);

	jobs -= cancelled;
	return cancelled;
}

void __wrap_rt_auth_result(struct rt_conn *c, struct rt_mail *m)
{
	jobs--;
	__real_rt_auth_result(c, m);
}

unsigned int auth_jobs(void)
{
	return jobs;
}
