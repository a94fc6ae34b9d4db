/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4_bound - how long the result of an NFSv4 operation can be
 *
 * A Requester provides for a Reply of this length, so a bound may be long but
 * never short. XDR leaves many opaques without a bound; those below are taken
 * as follows, and what could be longer in practice (ACLs, locations, labels,
 * lists without a maximum in the arguments) has no bound at all.
 *
 *	bitmap4			16 words (RFC 9754 ends in the third)
 *	names of users, groups	NAME_MAX octets, also as "who" of one ACE
 *	NFS4_OPAQUE_LIMIT	1024, owners of state and of servers
 *	file handle		128 (NFS4_FHSIZE)
 *	netid, address		256 octets together
 *	GSS mechanism		64 octets of OID
 */
#include "nfs/ulb.h"

/*
 * Values of the attributes, by number. 0: not bounded, not known, or only to
 * be set.
 */
static const uint16_t attr[] = {
	[0] = BITMAP_MAX, /* supported_attrs */
	[1] = 4, /* type */
	[2] = 4, /* fh_expire_type */
	[3] = 8, /* change */
	[4] = 8, /* size */
	[5] = 4, /* link_support */
	[6] = 4, /* symlink_support */
	[7] = 4, /* named_attr */
	[8] = 16, /* fsid */
	[9] = 4, /* unique_handles */
	[10] = 4, /* lease_time */
	[11] = 4, /* rdattr_error */
	/* 12 is acl */
	[13] = 4, /* aclsupport */
	[14] = 4, /* archive */
	[15] = 4, /* cansettime */
	[16] = 4, /* case_insensitive */
	[17] = 4, /* case_preserving */
	[18] = 4, /* chown_restricted */
	[19] = STR(128), /* filehandle */
	[20] = 8, /* fileid */
	[21] = 8, /* files_avail */
	[22] = 8, /* files_free */
	[23] = 8, /* files_total */
	/* 24 is fs_locations */
	[25] = 4, /* hidden */
	[26] = 4, /* homogeneous */
	[27] = 8, /* maxfilesize */
	[28] = 4, /* maxlink */
	[29] = 4, /* maxname */
	[30] = 8, /* maxread */
	[31] = 8, /* maxwrite */
	[32] = STR(256), /* mimetype */
	[33] = 4, /* mode */
	[34] = 4, /* no_trunc */
	[35] = 4, /* numlinks */
	[36] = WHO, /* owner */
	[37] = WHO, /* owner_group */
	[38] = 8, /* quota_avail_hard */
	[39] = 8, /* quota_avail_soft */
	[40] = 8, /* quota_used */
	[41] = 8, /* rawdev */
	[42] = 8, /* space_avail */
	[43] = 8, /* space_free */
	[44] = 8, /* space_total */
	[45] = 8, /* space_used */
	[46] = 4, /* system */
	[47] = 12, /* time_access */
	[49] = 12, /* time_backup */
	[50] = 12, /* time_create */
	[51] = 12, /* time_delta */
	[52] = 12, /* time_metadata */
	[53] = 12, /* time_modify */
	[55] = 8, /* mounted_on_fileid */
	[56] = 12, /* dir_notif_delay */
	[57] = 12, /* dirent_notif_delay */
	/* 58 and 59 are dacl and sacl */
	[60] = 16, /* change_policy */
	/* 61 is fs_status */
	[62] = STR(4 * 16), /* fs_layout_types */
	[64] = STR(4 * 16), /* layout_types */
	[65] = 4, /* layout_blksize */
	[66] = 4, /* layout_alignment */
	/* 67 is fs_locations_info, 68 mdsthreshold */
	[69] = 8 + 4 + 12, /* retention_get */
	[71] = 8 + 4 + 12, /* retentevt_get */
	[73] = 8, /* retention_hold */
	[75] = BITMAP_MAX, /* suppattr_exclcreat */
	[76] = 4, /* fs_charset_cap */
	[77] = 4, /* clone_blksize */
	[78] = 8, /* space_freed */
	[79] = 4, /* change_attr_type */
	/* 80 is sec_label */
	[81] = 8, /* mode_umask, only to be set */
	[82] = 4, /* xattr_support */
	[83] = 4, /* offline */
	[84] = 12, /* time_deleg_access */
	[85] = 12, /* time_deleg_modify */
	[86] = 5 * BITMAP_MAX, /* open_arguments */
};
#define ATTRS (sizeof(attr) / sizeof(attr[0]))

/* fattr4: the mask as it was asked for, at most, and the values. */
static uint64_t getattr_bound(struct ulb_cur cur)
{
	uint64_t sum = 4 + 4;
	uint32_t words, mask, i, bit;

	if (ulb_get32(&cur, &words))
		return ULB_UNBOUNDED;
	for (i = 0; i < words; i++) {
		if (ulb_get32(&cur, &mask))
			return ULB_UNBOUNDED;
		sum += 4;
		for (; mask; mask &= mask - 1) {
			bit = i * 32 + (uint32_t)__builtin_ctz(mask);
			if (i > ATTRS / 32 || bit >= ATTRS || !attr[bit])
				return ULB_UNBOUNDED;
			sum += attr[bit];
		}
	}
	return sum;
}

/* The word at @at octets into the arguments. */
static uint64_t word_at(struct ulb_cur cur, unsigned int at)
{
	uint32_t v;

	if (ulb_skip(&cur, at) || ulb_get32(&cur, &v))
		return ULB_UNBOUNDED;
	return v;
}

/* No client that is served here asks for SSV, whose handles have no limit. */
static uint64_t exchange_id_bound(struct ulb_cur cur)
{
	uint32_t how;

	if (ulb_skip(&cur, 8) || ulb_skip_opaque(&cur) || ulb_skip(&cur, 4) ||
	    ulb_get32(&cur, &how) || how > 1)
		return ULB_UNBOUNDED;
	/* ... state_protect, server_owner, server_scope, server_impl_id */
	return 16 + 4 + 2 * BITMAP_MAX + 8 + LIMIT + LIMIT +
	       (4 + LIMIT + LIMIT + 12);
}

uint64_t ulb_nfs4_bound(uint32_t op, const struct ulb_cur *args)
{
	uint64_t b = ulb_nfs4_ops[op].bound;

	if (b != ULB_NFS4_NO_BOUND)
		return 8 + b;

	switch (op) {
	case OP_GETATTR:
		b = getattr_bound(*args);
		break;
	case OP_READDIR:
		/* maxcount bounds READDIR4resok as encoded. */
		b = word_at(*args, 20);
		break;
	case OP_EXCHANGE_ID:
		b = exchange_id_bound(*args);
		break;
	case OP_GETDEVICEINFO:
		b = word_at(*args, 20); /* maxcount */
		break;
	case OP_GETDEVICELIST:
		b = word_at(*args, 4); /* maxdevices */
		if (b != ULB_UNBOUNDED)
			b = 24 + b * 16;
		break;
	case OP_LAYOUTGET:
		b = word_at(*args, 12 + 24 + 16); /* maxcount */
		break;
	case OP_TEST_STATEID:
		b = word_at(*args, 0);
		if (b != ULB_UNBOUNDED)
			b = 4 + b * 4;
		break;
	case OP_READ_PLUS:
		/*
		 * Segments cost up to 23 octets each; as long as holes are
		 * longer than that they cost less than their data would.
		 */
		b = word_at(*args, 24);
		break;
	case OP_LISTXATTRS:
		b = word_at(*args, 8); /* maxcount, of the whole result */
		break;
	default:
		b = ULB_UNBOUNDED;
	}
	/* What some servers leave out of the counts they are given. */
	return b == ULB_UNBOUNDED ? b : 8 + b + 128;
}
