# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(credit credit.c)
rpcrdma_unit(transport transport.c rt_pair.c
	LIBS rpcrdma_transport rpcrdma_loop)
