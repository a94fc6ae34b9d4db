/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_dbus - the method of org.ganesha.nfsd.rdma
 *
 * Threads: start and stop are called by Ganesha's main and admin threads (by
 * way of the control thread); the method by Ganesha's own D-Bus thread, which serves
 * one message after another and is nobody else's. So a caller who does not
 * take the answer, or a bus that hangs, holds up that thread at most. `lock`
 * is held while the method looks at the transport, whose functions take their
 * own locks below it.
 *
 * Ganesha 4.3 exports no way to take an object back, and gives its methods no
 * context: hence the one static structure, which a stop leaves empty.
 */
#include "ganesha/serve/stats_dbus.h"

#include <dbus/dbus.h>
#include <pthread.h>
#include <stdlib.h>

/*
 * The bus ends the connection of a sender whose message is longer than its
 * limit (32 MiB in its default configuration), and Ganesha ends with its
 * connection. So stay well below.
 */
#define LONGEST (8u << 20)
#define ERROR_NAME(what) STATS_DBUS_INTERFACE ".Error." what

static struct {
	pthread_mutex_t lock;
	const struct stats_source *src; /* NULL: not serving */
} object = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Print into @f; false: nothing is served. */
static bool print(FILE *f)
{
	bool served;

	pthread_mutex_lock(&object.lock);
	served = object.src;
	if (served)
		stats_json(f, object.src);
	pthread_mutex_unlock(&object.lock);
	return served;
}

static bool append(DBusMessage *reply, const char *text)
{
	DBusMessageIter iter;

	dbus_message_iter_init_append(reply, &iter);
	return dbus_message_iter_append_basic(&iter, DBUS_TYPE_STRING, &text);
}

static bool fail(DBusError *error, const char *name, const char *text)
{
	dbus_set_error_const(error, name, text);
	return false;
}

static bool get_statistics(DBusMessageIter *args, DBusMessage *reply,
			   DBusError *error)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	bool served = f && print(f);
	/* Only then it is all there. */
	bool printed = f && !fclose(f), done = false;

	if (printed && !served)
		fail(error, ERROR_NAME("NotServing"),
		     "RPC-over-RDMA is no longer served");
	else if (printed && len > LONGEST)
		fail(error, DBUS_ERROR_LIMITS_EXCEEDED,
		     "too many connections for one message: read the socket (Stats_Socket) instead");
	else
		done = (printed && append(reply, text)) ||
		       fail(error, DBUS_ERROR_NO_MEMORY, "no memory");
	free(text);
	return done;
}

/* ---- The object ------------------------------------------------------- */

static const struct gsh_dbus_method statistics = {
	.name = "GetStatistics",
	.method = get_statistics,
	.args = { { "json", "s", "out" }, { NULL, NULL, NULL } },
};
static const struct gsh_dbus_method *const methods[] = { &statistics, NULL };
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

const char *gr_stats_dbus_start(const struct gsh *g,
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
	gr_stats_dbus_stop();
	return "the server is not on the system bus";
}

void gr_stats_dbus_stop(void)
{
	pthread_mutex_lock(&object.lock);
	object.src = NULL;
	pthread_mutex_unlock(&object.lock);
}
