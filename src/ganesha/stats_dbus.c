/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_dbus - the methods of org.ganesha.nfsd.rdma
 *
 * Threads: start and stop are called by Ganesha's main and admin threads (by
 * way of the keeper); the methods by Ganesha's own D-Bus thread, which serves
 * one message after another and is nobody else's. So a caller who does not
 * take the answer, or a bus that hangs, holds up that thread at most. `lock`
 * is held while a method looks at the transport, whose functions take their
 * own locks below it.
 *
 * Ganesha 4.3 exports no way to take an object back, and gives its methods no
 * context: hence the one static structure, which a stop leaves empty.
 */
#include "ganesha/stats_dbus.h"

#include <dbus/dbus.h>
#include <pthread.h>
#include <stdlib.h>

#include "ulb/ulb.h"

/*
 * The bus ends the connection of a sender whose message is longer than its
 * limit (32 MiB in its default configuration), and Ganesha ends with its
 * connection. So stay well below.
 */
#define LONGEST (8u << 20)
#define MOST_CONNECTIONS 4096
#define ERROR_NAME(what) STATS_DBUS_INTERFACE ".Error." what

#define COUNTERS "a{st}"
#define CONNECTION "(tssssu" COUNTERS ")"
#define OPERATION "(s" COUNTERS ")"

static struct {
	pthread_mutex_t lock;
	const struct stats_source *src; /* NULL: not serving */
} object = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool no_memory(DBusError *error)
{
	dbus_set_error_const(error, DBUS_ERROR_NO_MEMORY, "no memory");
	return false;
}

/* The lock is held then. */
static const struct stats_source *open_source(DBusError *error)
{
	pthread_mutex_lock(&object.lock);
	if (object.src)
		return object.src;
	pthread_mutex_unlock(&object.lock);
	dbus_set_error_const(error, ERROR_NAME("NotServing"),
			     "RPC-over-RDMA is no longer served");
	return NULL;
}

static void close_source(void)
{
	pthread_mutex_unlock(&object.lock);
}

/* ---- Parts of answers ------------------------------------------------- */

static bool put_counter(DBusMessageIter *to, const char *name, uint64_t value)
{
	dbus_uint64_t v = value;
	DBusMessageIter entry;

	if (!dbus_message_iter_open_container(to, DBUS_TYPE_DICT_ENTRY, NULL,
					      &entry))
		return false;
	if (dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name) &&
	    dbus_message_iter_append_basic(&entry, DBUS_TYPE_UINT64, &v))
		return dbus_message_iter_close_container(to, &entry);
	dbus_message_iter_abandon_container(to, &entry);
	return false;
}

static bool put_counters(DBusMessageIter *to, const struct rt_stats *st)
{
	DBusMessageIter dict;

	if (!dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{st}",
					      &dict))
		return false;
#define PUT(name, help)                             \
	if (!put_counter(&dict, #name, st->name)) { \
		goto fail;                          \
	}
	RT_STATS(PUT)
#undef PUT
	return dbus_message_iter_close_container(to, &dict);

fail:
	dbus_message_iter_abandon_container(to, &dict);
	return false;
}

/* What is not UTF-8 may not be on the bus; a principal may be anything. */
static bool put_text(DBusMessageIter *to, const char *text)
{
	if (!text || !dbus_validate_utf8(text, NULL))
		text = "?";
	return dbus_message_iter_append_basic(to, DBUS_TYPE_STRING, &text);
}

struct put_conns {
	DBusMessageIter *to;
	unsigned int n;
	bool failed;
};

static void put_conn(const struct rt_conn_info *i, void *arg)
{
	struct put_conns *pc = arg;
	DBusMessageIter conn;
	dbus_uint64_t id = i->id;
	dbus_uint32_t version = i->version;

	if (pc->failed || ++pc->n > MOST_CONNECTIONS)
		return;
	pc->failed = true;
	if (!dbus_message_iter_open_container(pc->to, DBUS_TYPE_STRUCT, NULL,
					      &conn))
		return;
	if (dbus_message_iter_append_basic(&conn, DBUS_TYPE_UINT64, &id) &&
	    put_text(&conn, i->server ? "server" : "client") &&
	    put_text(&conn, i->peer_name) && put_text(&conn, i->state) &&
	    put_text(&conn, i->auth_peer) &&
	    dbus_message_iter_append_basic(&conn, DBUS_TYPE_UINT32, &version) &&
	    put_counters(&conn, &i->stats))
		pc->failed = !dbus_message_iter_close_container(pc->to, &conn);
	else
		dbus_message_iter_abandon_container(pc->to, &conn);
}

static bool put_class_counters(DBusMessageIter *to, const struct rt_class *k)
{
	DBusMessageIter dict;

	if (!dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, "{st}",
					      &dict))
		return false;
	if (!put_counter(&dict, "count", rt_histogram_count(&k->turn)) ||
	    !put_counter(&dict, "sum_ns", k->turn.sum))
		goto fail;
#define PUT(name, help)                            \
	if (!put_counter(&dict, #name, k->name)) { \
		goto fail;                         \
	}
	RT_CLASS_COUNTERS(PUT)
#undef PUT
	return dbus_message_iter_close_container(to, &dict);

fail:
	dbus_message_iter_abandon_container(to, &dict);
	return false;
}

static bool put_class(DBusMessageIter *to, unsigned int op_class,
		      const struct rt_class *k)
{
	DBusMessageIter one;

	if (!dbus_message_iter_open_container(to, DBUS_TYPE_STRUCT, NULL, &one))
		return false;
	if (put_text(&one, ulb_class_name(op_class)) &&
	    put_class_counters(&one, k))
		return dbus_message_iter_close_container(to, &one);
	dbus_message_iter_abandon_container(to, &one);
	return false;
}

/* ---- Methods ---------------------------------------------------------- */

static bool too_long(DBusError *error)
{
	dbus_set_error_const(error, DBUS_ERROR_LIMITS_EXCEEDED,
			     "too many connections for a message: the socket "
			     "(Stats_Socket) has them");
	return false;
}

static bool get_statistics(DBusMessageIter *args, DBusMessage *reply,
			   DBusError *error)
{
	const struct stats_source *src;
	DBusMessageIter iter;
	char *text = NULL;
	size_t len = 0;
	bool done = false;
	FILE *f;

	f = open_memstream(&text, &len);
	if (!f)
		return no_memory(error);
	src = open_source(error);
	if (src) {
		stats_json(f, src);
		close_source();
	}
	if (fclose(f)) {
		if (src)
			no_memory(error);
	} else if (src && len > LONGEST) {
		too_long(error);
	} else if (src) {
		dbus_message_iter_init_append(reply, &iter);
		done = dbus_message_iter_append_basic(&iter, DBUS_TYPE_STRING,
						      &text) ||
		       no_memory(error);
	}
	free(text);
	return done;
}

static bool get_totals(DBusMessageIter *args, DBusMessage *reply,
		       DBusError *error)
{
	const struct stats_source *src = open_source(error);
	unsigned int connections;
	DBusMessageIter iter;
	struct rt_stats st;
	uint64_t accepted;

	if (!src)
		return false;
	rt_stats_total(src->inst, &st, &connections, &accepted);
	close_source();
	dbus_message_iter_init_append(reply, &iter);
	return put_counters(&iter, &st) || no_memory(error);
}

static bool get_operations(DBusMessageIter *args, DBusMessage *reply,
			   DBusError *error)
{
	const struct stats_source *src = open_source(error);
	DBusMessageIter iter, array;
	struct rt_classes classes;
	bool fine = true;

	if (!src)
		return false;
	rt_classes_total(src->inst, &classes);
	close_source();
	dbus_message_iter_init_append(reply, &iter);
	if (!dbus_message_iter_open_container(&iter, DBUS_TYPE_ARRAY, OPERATION,
					      &array))
		return no_memory(error);
	for (unsigned int i = 0; i < ULB_NCLASSES && fine; i++)
		if (rt_histogram_count(&classes.of[i].turn))
			fine = put_class(&array, i, &classes.of[i]);
	if (fine)
		return dbus_message_iter_close_container(&iter, &array) ||
		       no_memory(error);
	dbus_message_iter_abandon_container(&iter, &array);
	return no_memory(error);
}

static bool get_connections(DBusMessageIter *args, DBusMessage *reply,
			    DBusError *error)
{
	const struct stats_source *src = open_source(error);
	DBusMessageIter iter, array;
	struct put_conns pc = { .to = &array };

	if (!src)
		return false;
	dbus_message_iter_init_append(reply, &iter);
	if (!dbus_message_iter_open_container(&iter, DBUS_TYPE_ARRAY,
					      CONNECTION, &array)) {
		close_source();
		return no_memory(error);
	}
	rt_for_each_conn(src->inst, put_conn, &pc);
	close_source();
	if (!pc.failed && pc.n <= MOST_CONNECTIONS)
		return dbus_message_iter_close_container(&iter, &array) ||
		       no_memory(error);
	dbus_message_iter_abandon_container(&iter, &array);
	return pc.failed ? no_memory(error) : too_long(error);
}

/* ---- The object ------------------------------------------------------- */

#define METHOD(var, nm, function, arg, signature)        \
	static const struct gsh_dbus_method var = {      \
		.name = (nm),                            \
		.method = (function),                    \
		.args = { { (arg), (signature), "out" }, \
			  { NULL, NULL, NULL } },        \
	}

METHOD(statistics, "GetStatistics", get_statistics, "json", "s");
METHOD(totals, "GetTotals", get_totals, "totals", COUNTERS);
METHOD(operations, "GetOperations", get_operations, "operations",
       "a" OPERATION);
METHOD(connections, "GetConnections", get_connections, "connections",
       "a" CONNECTION);

static const struct gsh_dbus_method *const methods[] = { &statistics, &totals,
							 &operations,
							 &connections, NULL };
static const struct gsh_dbus_interface interface = {
	.name = STATS_DBUS_INTERFACE,
	.methods = methods,
};
static const struct gsh_dbus_interface *const interfaces[] = { &interface,
							       NULL };

/*
 * By libdbus' default a program ends, without a word, when its bus does. The
 * connection is Ganesha's, which libdbus shares; it is there, so that nothing
 * is waited for. Ganesha's thread ends then and says so.
 */
static void outlive_the_bus(void)
{
	DBusConnection *conn = dbus_bus_get(DBUS_BUS_SYSTEM, NULL);

	if (!conn)
		return;
	dbus_connection_set_exit_on_disconnect(conn, FALSE);
	dbus_connection_unref(conn);
}

const char *stats_dbus_start(const struct gsh *g,
			     const struct stats_source *src)
{
	if (!g->dbus_register_path)
		return "this Ganesha is built without";
	pthread_mutex_lock(&object.lock);
	object.src = src;
	pthread_mutex_unlock(&object.lock);
	if (g->dbus_register_path(STATS_DBUS_OBJECT, interfaces) == 1) {
		outlive_the_bus();
		return NULL;
	}
	stats_dbus_stop();
	return "the server is not on the system bus";
}

void stats_dbus_stop(void)
{
	pthread_mutex_lock(&object.lock);
	object.src = NULL;
	pthread_mutex_unlock(&object.lock);
}
