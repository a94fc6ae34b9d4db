# SPDX-License-Identifier: BSD-3-Clause
rpcrdma_unit(events events.c LIBS rpcrdma_provider)
