/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qos - a Ganesha that has each client use up its share with each Call
 *
 * The packaged Ganesha is built without quality of service, for which it stops and
 * resumes reading from a client. This library, preloaded into the server by a test, does
 * so around the authentication of each Call.
 */
#include <dlfcn.h>
#include <stdbool.h>

struct req {
	void *xprt;
};

/* Of this program: who interposes them comes first. */
void svc_rqst_qos_suspend_socket(void *xprt);
void svc_rqst_qos_resume_socket(void *xprt);

__attribute__((visibility("default"))) int
svc_auth_authenticate(struct req *req, bool *no_dispatch);

int svc_auth_authenticate(struct req *req, bool *no_dispatch)
{
	int (*next)(struct req *, bool *);

	*(void **)&next = dlsym(RTLD_NEXT, "svc_auth_authenticate");
	svc_rqst_qos_suspend_socket(req->xprt);
	svc_rqst_qos_resume_socket(req->xprt);
	return next(req, no_dispatch);
}
