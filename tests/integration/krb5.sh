# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# krb5.sh - a Kerberos realm of a test's own
#
#	. "$(dirname "$0")/lib.sh"
#	. "$(dirname "$0")/krb5.sh"
#	isolate "$@"
#	isolate_host NAME [NAME...]	names of 192.0.2.1, the first the host's
#	start_kdc && add_principal nfs/NAME && get_ticket CACHE user
#
# All of it is in $WORK/krb5; KRB5_CONFIG and KRB5_KDC_PROFILE point there, so
# no file of the machine is read or written. Afterwards
#
#	KRB5_REALM	the realm
#	KRB5_KTNAME	keytab with every principal that was added
#	KDC_PID
KRB5_REALM=RPCRDMA.TEST

krb5_missing() {
	local tool
	for tool in krb5kdc kdb5_util kadmin.local kinit; do
		command -v "$tool" >/dev/null || { echo "$tool"; return 0; }
	done
	return 1
}

# The names are seen in this mount namespace alone. The machine's own host name
# is not changed: whoever wants one gives it to a server by its options.
isolate_host() {
	local name
	{
		echo "127.0.0.1 localhost"
		for name in "$@"; do echo "192.0.2.1 $name"; done
	} >"$WORK/hosts"
	mount --bind "$WORK/hosts" /etc/hosts
}

start_kdc() {
	local dir=$WORK/krb5
	mkdir -p "$dir/tmp"
	free_port; KDC_PORT=$PORT
	export KRB5_CONFIG=$dir/krb5.conf KRB5_KDC_PROFILE=$dir/kdc.conf
	export KRB5_KTNAME=FILE:$dir/keytab KRB5RCACHEDIR=$dir/tmp
	cat >"$KRB5_CONFIG" <<-END
	[libdefaults]
		default_realm = $KRB5_REALM
		dns_lookup_kdc = false
		dns_lookup_realm = false
		dns_canonicalize_hostname = false
		rdns = false
	[realms]
		$KRB5_REALM = {
			kdc = 127.0.0.1:$KDC_PORT
		}
	[domain_realm]
		.rpcrdma.test = $KRB5_REALM
	[logging]
		kdc = FILE:$dir/kdc.log
		default = FILE:$dir/krb5.log
	END
	cat >"$KRB5_KDC_PROFILE" <<-END
	[realms]
		$KRB5_REALM = {
			database_name = $dir/principal
			key_stash_file = $dir/stash
			acl_file = $dir/acl
			kdc_listen = 127.0.0.1:$KDC_PORT
			kdc_tcp_listen = 127.0.0.1:$KDC_PORT
		}
	END
	kdb5_util create -r "$KRB5_REALM" -s -P "$(head -c 12 /dev/urandom |
		base64)" >"$dir/create.out" 2>&1 || {
		tail -n 2 "$dir/create.out"
		return 1
	}
	start_bg krb5kdc -n -r "$KRB5_REALM" >"$dir/kdc.out" 2>&1
	KDC_PID=$BG_PID
	await 20 listening "$KDC_PORT"
}

# add_principal NAME [KEYTAB [OPTION...]]: with a random key, kept in a keytab
add_principal() {
	local name=$1 keytab=${2:-$WORK/krb5/keytab}
	shift; [ $# = 0 ] || shift
	kadmin.local -r "$KRB5_REALM" addprinc -randkey "$@" "$name" \
		>>"$WORK/krb5/admin.out" 2>&1 &&
		kadmin.local -r "$KRB5_REALM" ktadd -k "$keytab" "$name" \
			>>"$WORK/krb5/admin.out" 2>&1
}

# get_ticket CACHE NAME [OPTION...]: of a principal whose key is in the keytab
get_ticket() {
	kinit -k -t "$WORK/krb5/keytab" -c "$1" "${@:3}" "$2"
}
