/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcrdma-auth-token - the first token of a client, for tests
 *
 *	rpcrdma-auth-token TARGET [plain]
 *
 * Writes what a client of host authentication would begin with, from the
 * default credentials, for TARGET (nfs@HOST). "plain": as a client of another
 * protocol would, without channel bindings.
 */
#include <stdio.h>
#include <string.h>

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_krb5.h>

#define BOUND "RPC-over-RDMA version 2 host authentication"

int main(int argc, char **argv)
{
	struct gss_channel_bindings_struct bound = {
		.application_data = { sizeof(BOUND) - 1,
				      (void *)(uintptr_t)BOUND },
	};
	gss_buffer_desc name = { 0 }, out = GSS_C_EMPTY_BUFFER;
	gss_ctx_id_t ctx = GSS_C_NO_CONTEXT;
	gss_name_t target = GSS_C_NO_NAME;
	OM_uint32 maj, min;

	if (argc < 2)
		return 2;
	name = (gss_buffer_desc){ strlen(argv[1]), argv[1] };
	maj = gss_import_name(&min, &name, GSS_C_NT_HOSTBASED_SERVICE, &target);
	if (!GSS_ERROR(maj))
		maj = gss_init_sec_context(
			&min, GSS_C_NO_CREDENTIAL, &ctx, target,
			(gss_OID)(uintptr_t)gss_mech_krb5,
			GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, 0,
			argc > 2 ? GSS_C_NO_CHANNEL_BINDINGS : &bound,
			GSS_C_NO_BUFFER, NULL, &out, NULL, NULL);
	if (GSS_ERROR(maj)) {
		fprintf(stderr, "rpcrdma-auth-token: %x %x\n", maj, min);
		return 1;
	}
	fwrite(out.value, 1, out.length, stdout);
	gss_delete_sec_context(&min, &ctx, GSS_C_NO_BUFFER);
	gss_release_buffer(&min, &out);
	gss_release_name(&min, &target);
	return fflush(stdout) != 0;
}
