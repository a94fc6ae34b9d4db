/* SPDX-License-Identifier: BSD-3-Clause */
/* args - values of command line options */
#include "tools/args.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "rpcrdma/config.h"

static const char *arg_fail(struct arg_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static const char *arg_fail(struct arg_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->unknown_name = false;
	return err->text;
}

/* Returns which units may end a number up to @max. */
static const char *units_upto(uint64_t max)
{
	return max >> 30 ? "; it may end in K, M or G" :
	       max >> 20 ? "; it may end in K or M" :
	       max >> 10 ? "; it may end in K" :
			   "";
}

const char *arg_number(const char *s, uint64_t min, uint64_t max, uint64_t *out,
		       struct arg_err *err)
{
	unsigned long long v = 0;
	unsigned int shift = 0;
	char *end = NULL;

	errno = 0;
	/* strtoull would accept signs and blanks. */
	if (isdigit((unsigned char)s[0]))
		v = strtoull(s, &end, s[1] == 'x' || s[1] == 'X' ? 16 : 10);
	if (end && *end) {
		static const char units[] = "kmg";
		const char *u = strchr(units, tolower((unsigned char)*end));

		if (u && !end[1]) {
			shift = 10 * (unsigned int)(u - units + 1);
			end++;
		}
	}
	if (!end || *end || errno || v > UINT64_MAX >> shift ||
	    v << shift < min || v << shift > max)
		return arg_fail(err,
				"'%.60s' is not a number from %llu to %llu%s",
				s, (unsigned long long)min,
				(unsigned long long)max, units_upto(max));
	*out = v << shift;
	return NULL;
}

const char *arg_ms(const char *s, uint64_t min, uint64_t max, uint64_t *out,
		   struct arg_err *err)
{
	return arg_number(s, min, max, out, err) ?
		       arg_fail(
			       err,
			       "'%.60s' is not a number of milliseconds from %llu "
			       "to %llu",
			       s, (unsigned long long)min,
			       (unsigned long long)max) :
		       NULL;
}

const char *arg_number32(const char *s, uint32_t min, uint32_t max,
			 uint32_t *out, struct arg_err *err)
{
	uint64_t v = 0;
	const char *bad = arg_number(s, min, max, &v, err);

	if (!bad)
		*out = (uint32_t)v;
	return bad;
}

const char *arg_choice(const char *s, const char *const *names,
		       unsigned int *out, struct arg_err *err)
{
	char list[160] = "";
	size_t len = 0;

	for (unsigned int i = 0; names[i]; i++) {
		int n;

		if (!strcmp(s, names[i])) {
			*out = i;
			return NULL;
		}
		n = snprintf(list + len, sizeof(list) - len, "%s%s",
			     i ? ", " : "", names[i]);
		if (n > 0 && (size_t)n < sizeof(list) - len)
			len += (size_t)n;
	}
	return arg_fail(err, "'%.60s' is not one of %s", s, list);
}

const char *arg_rdma_versions(const char *s, unsigned int *out,
			      struct arg_err *err)
{
	static const char *const names[] = { "any", "1", "2", NULL };
	static const unsigned int set[] = { 1u << 1 | 1u << 2, 1u << 1,
					    1u << 2 };
	unsigned int choice = 0;
	const char *bad = arg_choice(s, names, &choice, err);

	if (!bad)
		*out = set[choice];
	return bad;
}

const char *arg_extensions(const char *s, unsigned int *out,
			   struct arg_err *err)
{
	static const struct {
		const char *name;
		unsigned int bit;
	} known[] = { { "xcharext", RT_EXT_XCHAR }, { "rtrext", RT_EXT_RTR } };
	const char *at = s;
	unsigned int v = 0;

	while (strcmp(s, "none")) {
		size_t len = strcspn(at, ","), i = 0;

		while (i < 2 && (strlen(known[i].name) != len ||
				 memcmp(known[i].name, at, len)))
			i++;
		if (i == 2)
			return arg_fail(
				err,
				"'%.60s' should be none, xcharext, rtrext or xcharext,rtrext",
				s);
		v |= known[i].bit;
		if (!at[len])
			break;
		at += len + 1;
	}
	*out = v;
	return NULL;
}

const char *arg_crc(const char *s, enum fab_crc *out, struct arg_err *err)
{
	static const char *const names[] = { [FAB_CRC_OFF] = "off",
					     [FAB_CRC_ON] = "on",
					     [FAB_CRC_AUTO] = "auto",
					     NULL };
	unsigned int choice = 0;
	const char *bad = arg_choice(s, names, &choice, err);

	if (!bad)
		*out = (enum fab_crc)choice;
	return bad;
}

bool arg_addr_same(const struct arg_addr *a, const struct arg_addr *b)
{
	return base_addr_same(&a->addr, &b->addr) &&
	       base_addr_port(&a->addr) == base_addr_port(&b->addr);
}

/* Letters, digits, dots and dashes, but no malformed address. */
static bool is_host_name(const char *name)
{
	bool letter = false;

	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && *c != '.' &&
		    (*c != '-' || c == name))
			return false;
		letter = letter || isalpha((unsigned char)*c);
	}
	return letter;
}

/* A link-local address needs one. */
static bool lacks_interface(const struct addrinfo *ai)
{
	struct sockaddr_in6 in6;

	if (ai->ai_family != AF_INET6)
		return false;
	memcpy(&in6, ai->ai_addr, sizeof(in6));
	return IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) && !in6.sin6_scope_id;
}

/* Add @ai, unless it is a duplicate or of no use. */
static void add_addr(struct arg_addrs *out, const struct addrinfo *ai)
{
	struct arg_addr *a = &out->at[out->n];

	if (out->n == ARG_ADDRS || ai->ai_addrlen > sizeof(a->addr) ||
	    lacks_interface(ai))
		return;
	memset(a, 0, sizeof(*a));
	memcpy(&a->addr, ai->ai_addr, ai->ai_addrlen);
	a->len = ai->ai_addrlen;
	for (unsigned int i = 0; i < out->n; i++)
		if (arg_addr_same(&out->at[i], a))
			return;
	out->n++;
}

const char *arg_addrs(const char *s, unsigned int port, struct arg_addrs *out,
		      struct arg_err *err)
{
	const char *form =
		port ? "is not an address such as 192.0.2.1, 192.0.2.1:20049, [2001:db8::1]:20049 or name:20049" :
		       "is not an address with a port, such as 127.0.0.1:20050, [::1]:20050 or name:20050";
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV };
	struct addrinfo *res = NULL;
	struct arg_addrs found;
	const char *host = s, *hend = s + strlen(s), *service = NULL;
	const char *colon = strrchr(s, ':');
	char name[256], number[16];
	const char *bad = NULL;
	uint64_t p = port;
	int rc;

	if (s[0] == '[') {
		host = s + 1;
		hend = strchr(s, ']');
		if (!hend || (hend[1] && hend[1] != ':'))
			return arg_fail(err, "'%.100s' %s", s, form);
		if (hend[1])
			service = hend + 2;
	} else if (colon && strchr(s, ':') == colon) {
		hend = colon;
		service = colon + 1;
	} else if (colon && !port) {
		return arg_fail(err, "'%.100s' %s", s, form);
	}
	if (hend == host || (size_t)(hend - host) >= sizeof(name) ||
	    (!service && !port))
		return arg_fail(err, "'%.100s' %s", s, form);
	memcpy(name, host, (size_t)(hend - host));
	name[hend - host] = 0;
	if (service) {
		bad = arg_number(service, 0, 65535, &p, err);
		if (bad)
			return arg_fail(err, "'%.100s' %s", s, form);
	}
	snprintf(number, sizeof(number), "%u", (unsigned int)p);
	rc = getaddrinfo(name, number, &hints, &res);
	if (rc) {
		arg_fail(
			err, "'%.100s': %s%s", s, gai_strerror(rc),
			*s == '"' ?
				": leave out the quotes" :
			*s != '[' && strchr(s, ':') != strrchr(s, ':') ?
				": an IPv6 address with a port is [ADDR]:PORT" :
				"");
		err->unknown_name = is_host_name(name);
		return err->text;
	}
	memset(&found, 0, sizeof(found));
	for (const struct addrinfo *ai = res; ai; ai = ai->ai_next)
		add_addr(&found, ai);
	found.is_name = is_host_name(name);
	if (found.n)
		*out = found;
	else
		bad = arg_fail(err, "'%.100s' needs an interface: %s%%eth0", s,
			       name);
	freeaddrinfo(res);
	return bad;
}

bool arg_addrs_add(struct arg_addrs *to, const struct arg_addrs *more)
{
	to->is_name |= more->is_name;
	for (unsigned int i = 0; i < more->n; i++) {
		unsigned int j = 0;

		while (j < to->n && !arg_addr_same(&to->at[j], &more->at[i]))
			j++;
		if (j < to->n)
			continue;
		if (to->n == ARG_ADDRS)
			return false;
		to->at[to->n++] = more->at[i];
	}
	return true;
}

const char *arg_addr(const char *s, unsigned int port, struct arg_addr *out,
		     struct arg_err *err)
{
	struct arg_addrs all;
	const char *bad = arg_addrs(s, port, &all, err);

	if (!bad)
		*out = all.at[0];
	return bad;
}

const char *arg_provider(const char *s, const char **out, struct arg_err *err)
{
	if (!fab_provider(s))
		return arg_fail(
			err,
			"'%.60s' is not a provider that is built in: iwarp%s",
			s, fab_provider("verbs") ? " or verbs" : "");
	*out = s;
	return NULL;
}

const char *arg_provider_fault(int err)
{
	switch (err) {
	case -ENODEV:
		return "there is no RDMA device (rdma link shows them); iwarp "
		       "needs none";
	case -ENOMEM:
	case -EPERM:
		return "memory cannot be registered: raise the limit of locked "
		       "memory (ulimit -l)";
	default:
		return strerror(-err);
	}
}
