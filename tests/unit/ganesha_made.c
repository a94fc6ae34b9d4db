/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which exports Ganesha would make, one beside the other. integration/ganesha.test
 * compares with the server.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ganesha/fstype.h"
#include "ganesha/bind/gsh.h"
#include "ganesha/made.h"
#include "unit.h"

static char dir[] = "/tmp/rpcrdma-made-XXXXXX";
static char fault[GR_MADE_FAULT];

/* A path below our folder, of a few at a time. */
static char *at(const char *name)
{
	static char path[4][128];
	static unsigned int n;
	char *p = path[n++ % 4];

	snprintf(p, sizeof(path[0]), "%s%s", dir, name);
	return p;
}

static void make(void)
{
	FILE *f;

	strcpy(dir, "/tmp/rpcrdma-made-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	CU_ASSERT_EQUAL(mkdir(at("/d"), 0700), 0);
	CU_ASSERT_EQUAL(mkdir(at("/d/e"), 0700), 0);
	CU_ASSERT_EQUAL(symlink("d", at("/l")), 0);
	f = fopen(at("/f"), "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fclose(f);
}

static void clear(void)
{
	CU_ASSERT_EQUAL(unlink(at("/f")), 0);
	CU_ASSERT_EQUAL(unlink(at("/l")), 0);
	CU_ASSERT_EQUAL(rmdir(at("/d/e")), 0);
	CU_ASSERT_EQUAL(rmdir(at("/d")), 0);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static bool good(const char *fsal, const char *path)
{
	bool made = true;

	return gr_made_path(fsal, path, &made, fault);
}

/* @useless: it is made all the same. */
static bool refused(const char *fsal, const char *path, bool useless,
		    const char *why)
{
	bool made = !useless;

	strcpy(fault, "");
	if (gr_made_path(fsal, path, &made, fault))
		return false;
	CU_ASSERT_EQUAL(made, useless);
	if (strstr(fault, why))
		return true;
	printf("\n%s: not in %s", why, fault);
	return false;
}

static void paths(void)
{
	make();
	CU_ASSERT_TRUE(good("VFS", at("/d")));
	CU_ASSERT_TRUE(good("vfs", at("/d///")));
	CU_ASSERT_TRUE(good("XFS", at("/./d//e/.")));
	CU_ASSERT_TRUE(good("VFS", "/"));
	CU_ASSERT_TRUE(
		refused("VFS", "d", false, "Path = d does not begin with /"));
	CU_ASSERT_TRUE(refused("VFS", "", false, "does not begin with /"));
	CU_ASSERT_TRUE(refused("VFS", at("/x"), false,
			       "No such file or directory: create it or "));
	CU_ASSERT_TRUE(
		refused("VFS", at("/f/x"), false, "Not a directory: correct"));
	CU_ASSERT_TRUE(refused("XFS", at("/f"), true, "/f is not a directory"));
	CU_ASSERT_TRUE(refused("VFS", at("/l"), true, "/l is a symbolic link"));
	CU_ASSERT_TRUE(
		refused("VFS", at("/l/"), true, "/l is a symbolic link"));
	CU_ASSERT_TRUE(refused("VFS", at("/l/e"), true, "/d/e: write that"));
	CU_ASSERT_TRUE(
		refused("VFS", at("/d/../d/e"), true, "/d/e: write that"));
	CU_ASSERT_TRUE(refused("VFS", "/proc", false,
			       "Path = /proc is on a file system of type proc, "
			       "which FSAL VFS does not export"));
	/* Of others it is not known what a Path is. */
	CU_ASSERT_TRUE(good("CEPH", "d"));
	CU_ASSERT_TRUE(good("MEM", at("/x")));
	clear();
}

static char mounts[] =
	"22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
	"nonsense\n"
	"23 22 0:22 / /proc rw - proc proc rw\n"
	"24 22 0:22 / /no\\040type rw\n"
	"25 22 0:51 /a /srv/home rw,relatime - nfs4 host:/a rw,vers=4.2\n"
	"26 22 0:52 / /mnt rw shared:9 master:1 - fuse.sshfs-of-a-very-long-name x rw\n"
	"27 22 8:1 / /data rw - xfs /dev/sda1 rw";

static const char *type_of(unsigned int major, unsigned int minor)
{
	static char type[GR_FSTYPE];
	FILE *f = fmemopen(mounts, strlen(mounts), "r");
	bool found;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	found = gr_fstype_of(f, makedev(major, minor), type);
	fclose(f);
	return found ? type : "none";
}

static void types(void)
{
	CU_ASSERT_STRING_EQUAL(type_of(254, 1), "ext4");
	CU_ASSERT_STRING_EQUAL(type_of(0, 22), "proc");
	CU_ASSERT_STRING_EQUAL(type_of(0, 51), "nfs4");
	CU_ASSERT_STRING_EQUAL(type_of(0, 52),
			       "fuse.sshfs-of-a-very-long-name");
	CU_ASSERT_STRING_EQUAL(type_of(8, 1), "xfs");
	CU_ASSERT_STRING_EQUAL(type_of(1, 8), "none");
	CU_ASSERT_STRING_EQUAL(type_of(0, 23), "none");
}

static void skipped(void)
{
	static const char *const no[] = { "nfs",    "nfs4",	"NFS4",
					  "autofs", "devtmpfs", "vboxsf",
					  "proc",   "cgroup" };
	static const char *const yes[] = { "ext4",  "xfs",    "btrfs",
					   "zfs",   "sshnfs", "cgroup2",
					   "devtm", "tmpfs2" };

	for (size_t i = 0; i < 8; i++) {
		CU_ASSERT_TRUE(gr_fstype_is_skipped(no[i]));
		CU_ASSERT_FALSE(gr_fstype_is_skipped(yes[i]));
	}
	CU_ASSERT_EQUAL(gr_fstype_is_skipped("tmpfs"), GSH_SKIPS_TMPFS);
}

static bool add(struct gr_made *m, struct gr_made_export x, const char *why)
{
	bool good;

	strcpy(fault, "");
	good = gr_made_add(m, &x, fault);
	CU_ASSERT_EQUAL(!good, why != NULL);
	if (why && !strstr(fault, why)) {
		printf("\n%s: not in %s", why, fault);
		return false;
	}
	return good == !why;
}

static void beside(void)
{
	struct gr_made m = { .n = 0 };
	char a[] = "/a", a_slash[] = "/a/", b[] = "/b", tag[] = "t";

	CU_ASSERT_TRUE(
		add(&m,
		    (struct gr_made_export){
			    .id = 1, .path = a, .pseudo = a, .tag = tag },
		    NULL));
	CU_ASSERT_TRUE(add(&m, (struct gr_made_export){ .id = 1, .path = b },
			   "Export_Id = 1 is used twice"));
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){
				   .id = 2, .path = b, .pseudo = a_slash },
			   "Pseudo = /a is used twice"));
	CU_ASSERT_TRUE(
		add(&m,
		    (struct gr_made_export){
			    .id = 2, .path = b, .pseudo = b, .tag = tag },
		    "Tag = t is used twice"));
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){ .id = 2, .path = a_slash },
			   "Path = /a is used twice"));
	/* With a Pseudo or Tag it may be; what was refused takes nothing. */
	CU_ASSERT_TRUE(add(
		&m, (struct gr_made_export){ .id = 2, .path = a, .pseudo = b },
		NULL));
	CU_ASSERT_TRUE(add(
		&m, (struct gr_made_export){ .id = 65535, .path = b }, NULL));
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){ .id = 65535, .path = b },
			   "Export_Id = 65535"));
	CU_ASSERT_EQUAL(m.n, 3);
	/* More than it has room for at first. */
	for (unsigned int id = 10; id < 100; id++) {
		char name[16];

		snprintf(name, sizeof(name), "/n%u", id);
		CU_ASSERT_TRUE(add(&m,
				   (struct gr_made_export){ .id = id,
							    .path = a,
							    .pseudo = name },
				   NULL));
	}
	CU_ASSERT_EQUAL(m.n, 93);
	gr_made_free(&m);
	CU_ASSERT_EQUAL(m.n, 0);
}

/* Is there a place for @inner in @outer? */
static bool placed(const char *fsal, const char *outer, bool outer4,
		   const char *inner, bool inner4)
{
	struct gr_made m = { .n = 0 };
	const struct gsh_config_node *node = NULL;
	char o[64], i[64], f[16], path[128];
	bool good;

	snprintf(o, sizeof(o), "%s", outer);
	snprintf(i, sizeof(i), "%s", inner);
	snprintf(f, sizeof(f), "%s", fsal);
	snprintf(path, sizeof(path), "%s", dir);
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){ .id = 1,
						    .nfs4 = inner4,
						    .pseudo = i,
						    .path = path,
						    .node = (void *)m.ids,
						    .fsal = f },
			   NULL));
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){ .id = 2,
						    .nfs4 = outer4,
						    .pseudo = o,
						    .path = path,
						    .fsal = f },
			   NULL));
	good = gr_made_nested(&m, &node, fault);
	CU_ASSERT_EQUAL((const void *)node, good ? NULL : m.ids);
	gr_made_free(&m);
	return good;
}

static void nested(void)
{
	make();
	CU_ASSERT_TRUE(placed("VFS", "/a", true, "/a/d", true));
	CU_ASSERT_TRUE(placed("VFS", "/a", true, "/a/d/e", true));
	CU_ASSERT_TRUE(placed("VFS", "/a", true, "/a//d", true));
	CU_ASSERT_TRUE(placed("VFS", "/", true, "/d", true));
	CU_ASSERT_FALSE(placed("VFS", "/", true, "/x", true));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(fault, "Pseudo = /x is within that of another"));
	CU_ASSERT_FALSE(placed("VFS", "/a", true, "/a/x", true));
	CU_ASSERT_FALSE(placed("VFS", "/a", true, "/a/d/x", true));
	CU_ASSERT_FALSE(placed("VFS", "/a", true, "/a/x/e", true));
	CU_ASSERT_FALSE(placed("VFS", "/a", true, "/a/f", true));
	CU_ASSERT_FALSE(placed("VFS", "/a", true, "/a/l", true));
	CU_ASSERT_FALSE(placed("MEM", "/a", true, "/a/d", true));
	CU_ASSERT_FALSE(placed("VFS", "/a", false, "/a/x", true));
	/* Of others it is not known; beside it; and not by NFSv4. */
	CU_ASSERT_TRUE(placed("CEPH", "/a", true, "/a/x", true));
	CU_ASSERT_TRUE(placed("VFS", "/a", true, "/ax", true));
	CU_ASSERT_TRUE(placed("VFS", "/a", true, "/a/x", false));
	clear();
}

/* The innermost one counts. */
static void innermost(void)
{
	struct gr_made m = { .n = 0 };
	const struct gsh_config_node *node;
	char root[] = "/", d[] = "/d", e[] = "/d/e", vfs[] = "VFS",
	     f[] = "CEPH";

	make();
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){ .id = 1,
						    .nfs4 = true,
						    .pseudo = d,
						    .fsal = f,
						    .path = root },
			   NULL));
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){ .id = 2,
						    .nfs4 = true,
						    .pseudo = e,
						    .fsal = vfs,
						    .path = at("/f") },
			   NULL));
	CU_ASSERT_TRUE(add(&m,
			   (struct gr_made_export){ .id = 3,
						    .nfs4 = true,
						    .pseudo = root,
						    .fsal = vfs,
						    .path = at("") },
			   NULL));
	CU_ASSERT_TRUE(gr_made_nested(&m, &node, fault));
	/* One that nobody can use is in nobody's way, and in none. */
	for (size_t i = 0; i < m.n; i++)
		strcpy(m.exports[i].fsal, "VFS");
	CU_ASSERT_FALSE(gr_made_nested(&m, &node, fault));
	m.exports[1].useless = true;
	CU_ASSERT_TRUE(gr_made_nested(&m, &node, fault));
	m.exports[1].useless = false;
	m.exports[0].useless = true;
	CU_ASSERT_TRUE(gr_made_nested(&m, &node, fault));
	gr_made_free(&m);
	clear();
}

static const struct unit_test tests[] = {
	{ "paths", paths },   { "types", types },   { "skipped", skipped },
	{ "beside", beside }, { "nested", nested }, { "innermost", innermost },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return unit_run("ganesha-made", tests, argc, argv);
}
