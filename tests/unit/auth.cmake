# SPDX-License-Identifier: BSD-3-Clause
pkg_check_modules(KRB5 REQUIRED IMPORTED_TARGET krb5-gssapi krb5)
rpcrdma_unit(auth-gss auth_gss.c LIBS rpcrdma_gss PkgConfig::KRB5)
