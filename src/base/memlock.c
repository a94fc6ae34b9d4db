/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memlock.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool base_memlock_limit(unsigned long long *kib)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct cap[_LINUX_CAPABILITY_U32S_3];
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return false;
	*kib = (unsigned long long)rl.rlim_cur / 1024;
	return syscall(SYS_capget, &head, cap) ||
	       !(cap[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &
		 CAP_TO_MASK(CAP_IPC_LOCK));
}
