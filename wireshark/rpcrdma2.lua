-- SPDX-License-Identifier: BSD-3-Clause
--
-- rpcrdma2 - RPC-over-RDMA version 2 for Wireshark and tshark
--
-- draft-ietf-nfsv4-rpcrdma-version-two-07 with the readings of
-- docs/protocol.md, and the operations of the extension drafts (xcharext,
-- rtrext) at header types from 0xFFFFFF00.
--
-- Wireshark itself takes MPA, DDP and RDMAP apart, so the capture must have
-- the start of the TCP connection. Messages that were continued or reduced are
-- put together from the fragments and from the data of RDMA Reads and Writes,
-- and then given to the RPC dissector: a Call with Read chunks where its last
-- Read ends, everything else where its last message is.
--
-- State is kept per connection while the file is read first; what a frame
-- brought is kept by frame, so that frames can be shown again in any order.

local p = Proto("rpcrdma2", "RPC-over-RDMA version 2")

local HTYPES = {
	[4] = "RDMA2_ERROR", [5] = "RDMA2_GRANT",
	[6] = "RDMA2_CONNPROP_MIDDLE", [7] = "RDMA2_CONNPROP_FINAL",
	[8] = "RDMA2_CALL_EXTERNAL", [9] = "RDMA2_CALL_MIDDLE",
	[10] = "RDMA2_CALL_INLINE", [11] = "RDMA2_REPLY_EXTERNAL",
	[12] = "RDMA2_REPLY_MIDDLE", [13] = "RDMA2_REPLY_INLINE",
	[0xFFFFFF01] = "ROPT_INITXCH", [0xFFFFFF02] = "ROPT_REQXCH",
	[0xFFFFFF03] = "ROPT_RESPXCH", [0xFFFFFF04] = "ROPT_UPDXCH",
	[0xFFFFFF15] = "ROPT_XMTREQ", [0xFFFFFF16] = "ROPT_XMTRESP",
	[0xFFFFFF17] = "ROPT_XMTCONT", [0xFFFFFF18] = "ROPT_REPTERR",
}
local ERRORS = {
	[1] = "RDMA2_ERR_VERS", [2] = "RDMA2_ERR_BAD_XDR",
	[3] = "RDMA2_ERR_BAD_PROPVAL", [4] = "RDMA2_ERR_INVAL_HTYPE",
	[5] = "RDMA2_ERR_INVAL_CONT", [6] = "RDMA2_ERR_READ_CHUNKS",
	[7] = "RDMA2_ERR_WRITE_CHUNKS", [8] = "RDMA2_ERR_SEGMENTS",
	[9] = "RDMA2_ERR_WRITE_RESOURCE", [10] = "RDMA2_ERR_REPLY_RESOURCE",
	[11] = "RDMA2_ERR_VERS_MISMATCH", [100] = "RDMA2_ERR_SYSTEM",
}
local PROPS = {
	[1] = "Maximum Send Size", [2] = "Receive Buffer Size",
	[3] = "Maximum RDMA Segment Size", [4] = "Maximum RDMA Segment Count",
	[5] = "Reverse-Direction Support", [6] = "Host Authentication Message",
	[0xFFFFFF00] = "Characteristics Operations Support",
	[0xFFFFFF02] = "Requester Remote Invalidation",
	[0xFFFFFF13] = "RTR Support",
	[0xFFFFFF14] = "Receive Buffer Structure",
	[0xFFFFFF15] = "Request Transmission Receive Limit",
	[0xFFFFFF16] = "Response Transmission Send Limit",
}
local REVERSE = { [0] = "none", [1] = "simple", [2] = "continued",
	[3] = "general" }
local PLACES = { [1] = "EXRW", [2] = "TBSN", [3] = "CHOICE", [4] = "BYSIZE",
	[5] = "TOOSHORT", [6] = "NOITEM" }
local OPTERRORS = { [1] = "BADHMT", [2] = "BADOMT", [3] = "BADCONT",
	[4] = "BADSEQ", [5] = "BADXID", [6] = "BADOFF", [7] = "BADTBSN",
	[8] = "BADPL" }
local DIRECTIONS = { [0] = "Call", [1] = "Reply" }

local f, fields = {}, {}
local function add(name, make, label, ...)
	f[name] = make("rpcrdma2." .. name, label, ...)
	fields[#fields + 1] = f[name]
end
local u32, hex32, hex64 = ProtoField.uint32, ProtoField.uint32, ProtoField.uint64
add("xid", hex32, "XID", base.HEX)
add("vers", u32, "Version", base.DEC)
add("credit", u32, "Credit", base.DEC)
add("htype", u32, "Header type", base.DEC_HEX, HTYPES)
add("err", u32, "Error", base.DEC, ERRORS)
add("vers_low", u32, "Lowest version", base.DEC)
add("vers_high", u32, "Highest version", base.DEC)
add("max_chunks", u32, "Most chunks", base.DEC)
add("max_segments", u32, "Most segments", base.DEC)
add("chunk_index", u32, "Chunk index", base.DEC)
add("length_needed", u32, "Length needed", base.DEC)
add("props", u32, "Properties", base.DEC)
add("prop", u32, "Property", base.DEC_HEX, PROPS)
add("prop.length", u32, "Length", base.DEC)
add("prop.value", u32, "Value", base.DEC)
add("prop.reverse", u32, "Level", base.DEC, REVERSE)
add("prop.data", ProtoField.bytes, "Data")
add("inv_handle", hex32, "Handle that may be invalidated", base.HEX)
add("remaining", u32, "Octets that follow", base.DEC)
add("call", ProtoField.none, "Call chunk")
add("read_list", ProtoField.none, "Read list")
add("write_list", ProtoField.none, "Write list")
add("reads", u32, "Read chunks", base.DEC)
add("writes", u32, "Write chunks", base.DEC)
add("reply", ProtoField.none, "Reply chunk")
add("chunk", ProtoField.none, "Chunk")
add("chunk.segments", u32, "Segments", base.DEC)
add("position", u32, "Position", base.DEC)
add("handle", hex32, "Handle", base.HEX)
add("length", u32, "Length", base.DEC)
add("offset", hex64, "Offset", base.HEX)
add("payload", ProtoField.bytes, "Payload")
add("payload.length", u32, "Payload length", base.DEC)
add("surplus", u32, "Octets after the header", base.DEC)
add("whole.length", u32, "Length of the RPC message", base.DEC)
add("whole.fragments", u32, "Messages that it came in", base.DEC)
add("whole.placed", u32, "Octets of it that came by RDMA", base.DEC)
add("call_frame", ProtoField.framenum, "Header in", base.NONE, frametype.NONE)
add("data", ProtoField.bytes, "RDMA data")
add("segment", ProtoField.bytes, "Octets of a Send")
add("subset", ProtoField.none, "Subset")
add("subset.start", hex32, "Will not change", base.HEX)
add("subset.done", hex32, "Done", base.HEX)
add("subset.rej", hex32, "Rejected", base.HEX)
add("subset.pend", hex32, "Pending", base.HEX)
add("pendclr", ProtoField.bool, "No longer pending")
add("items", u32, "Items placed elsewhere", base.DEC)
add("item.disp", u32, "Displacement", base.DEC)
add("item.length", u32, "Item length", base.DEC)
add("place", u32, "Placement", base.DEC, PLACES)
add("place.offset", u32, "Offset in the segment", base.DEC)
add("place.bsn", u32, "Target buffer segment", base.DEC)
add("place.threshold", u32, "Explicit RDMA from", base.DEC)
add("place.minlen", u32, "Least length", base.DEC)
add("rsd", u32, "Directions for the response", base.DEC)
add("rsd.begin", u32, "Range begins", base.DEC)
add("rsd.end", u32, "Range ends", base.DEC)
add("rsd.items", u32, "Items", base.DEC)
add("count", u32, "Transmissions of the group", base.DEC)
add("rsbuf", u32, "Transmissions for the response", base.DEC)
add("pslen", u32, "Payload stream length", base.DEC)
add("xnum", u32, "Transmission number", base.DEC)
add("itype", hex32, "Group of", base.HEX, HTYPES)
add("bad.xid", hex32, "XID of the bad transmission", base.HEX)
add("bad.dir", u32, "Its direction", base.DEC, DIRECTIONS)
add("bad.seq", u32, "Its number", base.DEC)
add("lead.xid", hex32, "XID of the leading transmission", base.HEX)
add("lead.dir", u32, "Its direction", base.DEC, DIRECTIONS)
add("lead.seq", u32, "Its number", base.DEC)
add("opterr", u32, "Error report", base.DEC, OPTERRORS)
add("opterr.expect", u32, "Expected", base.DEC)
add("opterr.current", u32, "Found", base.DEC)
add("opterr.value", u32, "Value", base.DEC)
add("opterr.min", u32, "Least", base.DEC)
add("opterr.max", u32, "Largest", base.DEC)
add("rbs.length", u32, "Buffer length", base.DEC)
add("rbs.count", u32, "Segments alike", base.DEC)
add("rbs.seg_length", u32, "Segment length", base.DEC)
add("rbs.align", u32, "Alignment", base.DEC)
add("rbs.flags", hex32, "Flags", base.HEX)
p.fields = fields

local ef = {
	xdr = ProtoExpert.new("rpcrdma2.expert.bad_xdr",
		"The header breaks off or is not XDR", expert.group.MALFORMED,
		expert.severity.ERROR),
	propval = ProtoExpert.new("rpcrdma2.expert.bad_propval",
		"Not a value of this property", expert.group.PROTOCOL,
		expert.severity.ERROR),
	htype = ProtoExpert.new("rpcrdma2.expert.htype", "Unknown header type",
		expert.group.PROTOCOL, expert.severity.WARN),
	cont = ProtoExpert.new("rpcrdma2.expert.inval_cont",
		"Does not continue the message before", expert.group.SEQUENCE,
		expert.severity.ERROR),
	refused = ProtoExpert.new("rpcrdma2.expert.error", "An error report",
		expert.group.RESPONSE_CODE, expert.severity.NOTE),
	missing = ProtoExpert.new("rpcrdma2.expert.missing",
		"The RPC message cannot be put together: data are not in the capture",
		expert.group.REASSEMBLE, expert.severity.NOTE),
}
p.experts = { ef.xdr, ef.propval, ef.htype, ef.cont, ef.refused, ef.missing }

local get_opcode = Field.new("iwarp_rdma.opcode")
local get_stag = Field.new("iwarp_ddp.stag")
local get_to = Field.new("iwarp_ddp.tagged_offset")
local get_last = Field.new("iwarp_ddp.last_flag")
local get_mo = Field.new("iwarp_ddp.mo")
local get_stream = Field.new("tcp.stream")
local get_sinkstag = Field.new("iwarp_rdma.sinkstag")
local get_sinkto = Field.new("iwarp_rdma.sinkto")
local get_srcstag = Field.new("iwarp_rdma.srcstag")
local get_srcto = Field.new("iwarp_rdma.srcto")
local get_readsize = Field.new("iwarp_rdma.rdmardsz")
local WRITE, READ_RESPONSE, FIRST_SEND, LAST_SEND = 0, 2, 3, 6

-- The last value that the frame has so far, and how many there are.
local function last(getter)
	local all = { getter() }
	local it = all[#all]
	return it and it.value, #all
end

-- ---- State ---------------------------------------------------------------

local conns, frames = {}, {}

function p.init()
	conns, frames = {}, {}
end

local function ends(pinfo)
	return tostring(pinfo.src) .. ":" .. tostring(pinfo.src_port),
		tostring(pinfo.dst) .. ":" .. tostring(pinfo.dst_port)
end

local function find_conn(pinfo, make)
	local from, to = ends(pinfo)
	local stream = last(get_stream)
	local key

	if stream then
		key = "tcp " .. stream
	else
		key = from < to and from .. " " .. to or to .. " " .. from
	end
	if not conns[key] and make then
		-- By end: the message being continued, the group of
		-- transmissions, Calls by XID, memory by handle, Reads by
		-- sink, Calls that wait for Reads, the Send of which segments
		-- are here.
		conns[key] = { seq = {}, group = {}, calls = {}, memory = {},
			sinks = {}, waiting = {}, sends = {} }
	end
	return conns[key], from, to
end

local function of(t, key)
	if not t[key] then
		t[key] = {}
	end
	return t[key]
end

-- ---- Memory of an end, as far as the capture shows it -------------------

-- Offsets are random 64-bit numbers, which Lua's cannot hold: two halves.
local function wide(v)
	if type(v) == "number" then
		v = UInt64(v)
	end
	return { high = v:higher(), low = v:lower() }
end

local function ahead(a, b)
	return (a.high - b.high) * 4294967296 + (a.low - b.low)
end

local function plus(a, n)
	return { high = a.high, low = a.low + n }
end

local function place(conn, owner, handle, offset, data)
	local m = of(of(conn.memory, owner), handle)
	m[#m + 1] = { at = offset, data = data }
end

-- What is in these segments, or nil if not all of it has been seen.
local function gather(conn, owner, segments)
	local out = {}

	for _, s in ipairs(segments) do
		local done = 0
		local pieces = of(conn.memory, owner)[s.handle] or {}

		while done < s.length do
			local found
			for i = #pieces, 1, -1 do
				local x = pieces[i]
				local at = ahead(s.offset, x.at) + done
				if at >= 0 and at < #x.data then
					found = x.data:sub(at + 1, math.min(#x.data,
						at + s.length - done))
					break
				end
			end
			if not found then
				return nil
			end
			out[#out + 1] = found
			done = done + #found
		end
	end
	return table.concat(out)
end

-- A handle is of no use when its RPC is over.
local function forget(conn, owner, segments)
	for _, s in ipairs(segments) do
		of(conn.memory, owner)[s.handle] = nil
	end
end

local function roundup(n)
	return (4 - n % 4) % 4
end

-- ---- Whole RPC messages --------------------------------------------------

local function word(s, at) -- at counts from 0
	local a, b, c, d = s:byte(at + 1, at + 4)
	return d and ((a * 256 + b) * 256 + c) * 256 + d
end

-- Read chunks into the stream, 4.5.1: positions count in the whole one.
local function insert_reads(stream, chunks)
	local out, len, used, placed = {}, 0, 0, 0

	for _, c in ipairs(chunks) do
		local n = c.position - len
		if n < 0 or used + n > #stream then
			return nil
		end
		-- A chunk may have come with its roundup, [C9].
		local data = c.data .. ("\0"):rep(roundup(#c.data))
		out[#out + 1] = stream:sub(used + 1, used + n)
		out[#out + 1] = data
		used = used + n
		len = len + n + #data
		placed = placed + #c.data
	end
	out[#out + 1] = stream:sub(used + 1)
	return table.concat(out), placed
end

-- Results of NFS version 4 that may be reduced, Appendix A and RFC 8267: what
-- stands before the length of the data. "any" is one word.
local NFS4_RESULTS = {
	{ 25, 0, "any" }, -- READ: operation, status, eof
	{ 27, 0 }, -- READLINK
	{ 68, 0, "any", "any", 0, "any", "any" }, -- READ_PLUS, one segment
}

local function matches(stream, at, pattern, length)
	for i, want in ipairs(pattern) do
		if want ~= "any" and word(stream, at + 4 * (i - 1)) ~= want then
			return false
		end
	end
	return word(stream, at + 4 * #pattern) == length
end

-- Where the data of this length belongs, from @from on. A Reply does not say;
-- what was called does.
local function result_place(stream, from, length, call)
	if call and call.prog == 100003 and call.vers == 4 then
		for at = from, #stream - 8, 4 do
			for _, pattern in ipairs(NFS4_RESULTS) do
				if matches(stream, at, pattern, length) then
					return at + 4 * #pattern + 4
				end
			end
		end
		return nil
	end
	-- READ and READLINK of version 3 end with it.
	if #stream >= 4 and word(stream, #stream - 4) == length then
		return #stream
	end
	return nil
end

local function insert_writes(stream, chunks, call)
	local out, used, placed = {}, 0, 0

	for _, data in ipairs(chunks) do
		if #data > 0 then
			local at = result_place(stream, used, #data, call)
			if not at then
				return nil
			end
			out[#out + 1] = stream:sub(used + 1, at)
			out[#out + 1] = data .. ("\0"):rep(roundup(#data))
			used = at
			placed = placed + #data
		end
	end
	out[#out + 1] = stream:sub(used + 1)
	return table.concat(out), placed
end

local function note_call(conn, from, stream)
	if #stream >= 24 and word(stream, 4) == 0 then
		of(conn.calls, from)[word(stream, 0)] = {
			prog = word(stream, 12), vers = word(stream, 16) }
	end
end

-- A Call as whole as it can be now: nil if Reads are to come.
local function finish_call(conn, from, m)
	local stream, placed, chunks = m.stream, 0, {}

	if m.call then
		stream = gather(conn, from, m.call)
		if not stream then
			return nil
		end
		placed = #stream
	end
	for _, c in ipairs(m.reads) do
		local data = gather(conn, from, c.segments)
		if not data then
			return nil
		end
		chunks[#chunks + 1] = { position = c.position, data = data }
	end
	if #chunks > 0 then
		local n
		stream, n = insert_reads(stream, chunks)
		if not stream then
			return { missing = true }
		end
		placed = placed + n
	end
	if m.call then
		forget(conn, from, m.call)
	end
	for _, c in ipairs(m.reads) do
		forget(conn, from, c.segments)
	end
	note_call(conn, from, stream)
	return { data = stream, fragments = m.fragments, placed = placed,
		header = m.frame }
end

local function finish_reply(conn, to, m)
	local stream, placed, chunks = m.stream, 0, {}
	local call = of(conn.calls, to)[m.xid]

	if m.reply then
		stream = gather(conn, to, m.reply)
		if not stream then
			return { missing = true }
		end
		placed = #stream
		forget(conn, to, m.reply)
	end
	for _, segments in ipairs(m.writes) do
		local data = gather(conn, to, segments)
		if not data then
			return { missing = true }
		end
		chunks[#chunks + 1] = data
		forget(conn, to, segments)
	end
	local n
	stream, n = insert_writes(stream, chunks, call)
	if not stream then
		return { missing = true }
	end
	of(conn.calls, to)[m.xid] = nil
	return { data = stream, fragments = m.fragments, placed = placed + n,
		header = m.frame }
end

-- Fragments so far and this one, or nil and that it is out of place (6.6.2).
-- rdma_remaining may count the octets of its own message (seq.with) or not [D1];
-- which of both, the first message tells that does not fit both.
local function join(seq, m)
	if not seq then
		return m.payload, 1, false, true, true
	end
	local left = m.remaining or 0
	local without = seq.without and seq.remaining == #m.payload + left
	local with = seq.with and seq.remaining ==
		seq.last + (m.is_middle and left or #m.payload)
	if seq.xid ~= m.xid or seq.reply ~= m.is_reply or
	   not (with or without) then
		return nil, 0, true
	end
	return seq.data .. m.payload, seq.n + 1, false, with, without
end

-- What a message @m of @from does. Returns what is whole now, if anything.
local function advance(conn, from, to, m)
	local r = {}

	if m.is_middle or m.is_inline then
		local data, n, wrong, with, without = join(conn.seq[from], m)

		if wrong then
			r.cont = true
			if m.is_middle then
				return r
			end
		elseif m.is_middle then
			conn.seq[from] = { xid = m.xid, reply = m.is_reply,
				data = data, n = n, remaining = m.remaining,
				last = #m.payload, with = with,
				without = without }
			return r
		end
		conn.seq[from] = nil
		if wrong then
			return r
		end
		m.stream, m.fragments = data, n
	elseif m.is_external then
		m.stream, m.fragments = "", 1
	elseif m.is_group then
		local g = conn.group[from]
		if m.group_count then
			g = { xid = m.xid, left = m.group_count, data = "", n = 0,
				reply = m.is_reply, items = m.group_items }
			conn.group[from] = g
		elseif not g or g.xid ~= m.xid or g.n ~= m.group_number then
			r.cont = true
			return r
		end
		g.data, g.n, g.left = g.data .. m.payload, g.n + 1, g.left - 1
		if g.left > 0 then
			return r
		end
		conn.group[from] = nil
		if g.items > 0 then
			r.whole = { missing = true }
			return r
		end
		if not g.reply then
			note_call(conn, from, g.data)
		end
		r.whole = { data = g.data, fragments = g.n, placed = 0,
			header = m.frame }
		return r
	else
		return r
	end
	if m.is_reply then
		r.whole = finish_reply(conn, to, m)
		return r
	end
	r.whole = finish_call(conn, from, m)
	if not r.whole then
		r.waits = true
		local list = of(conn.waiting, from)
		list[#list + 1] = m
	end
	return r
end

-- ---- XDR -----------------------------------------------------------------

local SHORT = {} -- thrown where the octets end

local Reader = {}
Reader.__index = Reader

local function reader(range, at, stop)
	return setmetatable({ tvb = range, at = at, stop = stop }, Reader)
end

function Reader:left()
	return self.stop - self.at
end

function Reader:need(n)
	if n > self:left() then
		error(SHORT, 0)
	end
end

function Reader:take(n)
	self:need(n)
	local r = n > 0 and self.tvb(self.at, n) or nil
	self.at = self.at + n
	return r
end

function Reader:u32(tree, field)
	local r = self:take(4)
	if tree then
		tree:add(field, r)
	end
	return r:uint(), r
end

function Reader:flag()
	local v = self:u32()
	if v > 1 then
		error(SHORT, 0)
	end
	return v == 1
end

-- A count of entries of so many octets at least; then never more than fit.
function Reader:count(tree, field, least)
	local v = self:u32(tree, field)
	if v * least > self:left() then
		error(SHORT, 0)
	end
	return v
end

local function segment(r, tree)
	local s = {}
	s.handle = r:u32(tree, f.handle)
	s.length = r:u32(tree, f.length)
	local range = r:take(8)
	tree:add(f.offset, range)
	s.offset = wide(range:uint64())
	return s
end

local function segments(r, tree)
	local out = {}
	for i = 1, r:count(tree, f["chunk.segments"], 16) do
		out[i] = segment(r, tree)
	end
	return out
end

-- A Read list: chunks with their segments. Equal Positions are one chunk.
local function read_list(r, tree)
	local out = {}
	while r:flag() do
		local sub = tree:add(f.chunk, r.tvb(r.at, math.min(20, r:left())))
		local position = r:u32(sub, f.position)
		local s = segment(r, sub)
		sub:set_text("Read segment: position " .. position .. ", length " ..
			s.length)
		local c = out[#out]
		if not c or c.position ~= position then
			c = { position = position, segments = {} }
			out[#out + 1] = c
		end
		c.segments[#c.segments + 1] = s
	end
	return out
end

local function reads(r, tree)
	local start = r.at
	local sub = tree:add(f.read_list, r.tvb(start, 0))
	local list = read_list(r, sub)
	sub:set_len(r.at - start)
	sub:add(f.reads, #list):set_generated()
	return list
end

local function write_chunk(r, tree)
	local start = r.at
	local sub = tree:add(f.chunk, r.tvb(start, math.min(4, r:left())))
	local list = segments(r, sub)
	local bytes = 0
	for _, s in ipairs(list) do
		bytes = bytes + s.length
	end
	sub:set_len(r.at - start)
	sub:set_text("Chunk: " .. #list .. " segments, " .. bytes .. " octets")
	return list
end

local function writes(r, tree)
	local start, list = r.at, {}
	local sub = tree:add(f.write_list, r.tvb(start, 0))
	while r:flag() do
		list[#list + 1] = write_chunk(r, sub)
	end
	sub:set_len(r.at - start)
	sub:add(f.writes, #list):set_generated()
	return list
end

local function reply_chunk(r, tree)
	if not r:flag() then
		return nil
	end
	local start = r.at
	local sub = tree:add(f.reply, r.tvb(start, math.min(4, r:left())))
	local list = write_chunk(r, sub)
	sub:set_len(r.at - start)
	return list
end

-- ---- Properties ----------------------------------------------------------

local function buffer_structure(r, tree)
	r:u32(tree, f["rbs.length"])
	for _ = 1, r:count(nil, nil, 16) do
		r:u32(tree, f["rbs.count"])
		r:u32(tree, f["rbs.seg_length"])
		r:u32(tree, f["rbs.align"])
		r:u32(tree, f["rbs.flags"])
	end
end

local function property(r, tree)
	local start = r.at
	local sub = tree:add(f.prop, r.tvb(start, math.min(4, r:left())))
	local which = r:u32()
	local len = r:u32(sub, f["prop.length"])
	local name = PROPS[which] or string.format("0x%x", which)
	local value = r:take(len)
	r:take(roundup(len))
	sub:set_len(r.at - start)
	sub:set_text("Property: " .. name)
	if len == 0 then
		sub:append_text(": default")
	elseif not PROPS[which] or which == 6 then
		sub:add(f["prop.data"], value)
	elseif which == 0xFFFFFF14 then
		local good, err = pcall(buffer_structure, reader(r.tvb, r.at - len,
			r.at), sub)
		if not good then
			if err ~= SHORT then
				error(err, 0)
			end
			sub:add_proto_expert_info(ef.propval)
		end
	elseif len ~= 4 then
		sub:add(f["prop.data"], value)
		sub:add_proto_expert_info(ef.propval)
	else
		local v = value:uint()
		if which == 5 then
			sub:add(f["prop.reverse"], value)
		else
			sub:add(f["prop.value"], value)
		end
		sub:append_text(": " .. (which == 5 and REVERSE[v] or v))
		if (which == 5 and v > 3) or
		   ((which == 1 or which == 2) and v < 1024) then
			sub:add_proto_expert_info(ef.propval)
		end
	end
end

local function properties(r, tree)
	for _ = 1, r:count(tree, f.props, 8) do
		property(r, tree)
	end
end

local function subset(r, tree, field)
	for _ = 1, r:count(nil, nil, 4) do
		r:u32(tree, field)
	end
end

-- ---- Bodies by header type; each fills the message ----------------------

local body = {}

body[4] = function(r, t, m)
	local code, range = r:u32(t, f.err)
	m.text = ERRORS[code] or tostring(code)
	t:add_proto_expert_info(ef.refused, m.text)
	if code == 1 then
		r:u32(t, f.vers_low)
		r:u32(t, f.vers_high)
	elseif code == 6 or code == 7 then
		r:u32(t, f.max_chunks)
	elseif code == 8 then
		r:u32(t, f.max_segments)
	elseif code == 9 then
		r:u32(t, f.chunk_index)
		r:u32(t, f.length_needed)
	elseif code == 10 then
		r:u32(t, f.length_needed)
	end
end

body[5] = function() end

body[6] = function(r, t)
	properties(r, t)
end
body[7] = body[6]

body[8] = function(r, t, m)
	m.is_external = true
	r:u32(t, f.inv_handle)
	local start = r.at
	local sub = t:add(f.call, r.tvb(start, 0))
	local list = read_list(r, sub)
	sub:set_len(r.at - start)
	m.call = {}
	for _, c in ipairs(list) do
		for _, s in ipairs(c.segments) do
			m.call[#m.call + 1] = s
		end
	end
	m.reads = reads(r, t)
	m.writes = writes(r, t)
	reply_chunk(r, t)
end

body[9] = function(r, t, m)
	m.is_middle = true
	m.remaining = r:u32(t, f.remaining)
	m.has_payload = true
end

body[10] = function(r, t, m)
	m.is_inline = true
	r:u32(t, f.inv_handle)
	m.reads = reads(r, t)
	m.writes = writes(r, t)
	reply_chunk(r, t)
	m.has_payload = true
end

body[11] = function(r, t, m)
	m.is_external, m.is_reply = true, true
	m.writes = writes(r, t)
	m.reply = reply_chunk(r, t)
end

body[12] = function(r, t, m)
	m.is_reply = true
	body[9](r, t, m)
end

body[13] = function(r, t, m)
	m.is_inline, m.is_reply = true, true
	m.writes = writes(r, t)
	m.has_payload = true
end

body[0xFFFFFF01] = function(r, t)
	properties(r, t)
	subset(r, t, f["subset.start"])
end

body[0xFFFFFF02] = function(r, t)
	properties(r, t)
end

body[0xFFFFFF03] = function(r, t)
	subset(r, t, f["subset.done"])
	subset(r, t, f["subset.rej"])
	subset(r, t, f["subset.pend"])
end

body[0xFFFFFF04] = function(r, t)
	property(r, t)
	r:need(4)
	t:add(f.pendclr, r.tvb(r.at, 4), r:flag())
end

local function message_items(r, tree, m)
	m.group_items = r:count(tree, f.items, 12)
	for _ = 1, m.group_items do
		r:u32(tree, f["item.disp"])
		r:u32(tree, f["item.length"])
		local how = r:u32(tree, f.place)
		if how == 1 then
			write_chunk(r, tree)
		elseif how == 2 then
			r:u32(tree, f["place.offset"])
			for _ = 1, r:count(nil, nil, 4) do
				r:u32(tree, f["place.bsn"])
			end
		elseif how ~= 5 and how ~= 6 then
			error(SHORT, 0)
		end
	end
end

local function response_directions(r, tree)
	for _ = 1, r:count(tree, f.rsd, 12) do
		r:u32(tree, f["rsd.begin"])
		r:u32(tree, f["rsd.end"])
		for _ = 1, r:count(tree, f["rsd.items"], 8) do
			r:u32(tree, f["place.minlen"])
			local how = r:u32(tree, f.place)
			if how == 4 then
				r:u32(tree, f["place.threshold"])
			end
			if how == 1 or how == 3 or how == 4 then
				write_chunk(r, tree)
			elseif how ~= 2 then
				error(SHORT, 0)
			end
		end
	end
end

local function stream_length(r, tree, m)
	local n = r:u32(tree, f.pslen)
	r:need(n)
	m.is_group, m.payload_len = true, n
	m.has_payload = true
end

body[0xFFFFFF15] = function(r, t, m)
	message_items(r, t, m)
	response_directions(r, t)
	m.group_count = r:u32(t, f.count)
	r:u32(t, f.rsbuf)
	stream_length(r, t, m)
end

body[0xFFFFFF16] = function(r, t, m)
	m.is_reply = true
	message_items(r, t, m)
	m.group_count = r:u32(t, f.count)
	stream_length(r, t, m)
end

body[0xFFFFFF17] = function(r, t, m)
	m.group_number = r:u32(t, f.xnum)
	r:u32(t, f.itype)
	stream_length(r, t, m)
end

body[0xFFFFFF18] = function(r, t, m)
	r:u32(t, f["bad.xid"])
	r:u32(t, f["bad.dir"])
	r:u32(t, f["bad.seq"])
	if r:flag() then
		r:u32(t, f["lead.xid"])
		r:u32(t, f["lead.dir"])
		r:u32(t, f["lead.seq"])
	end
	local code = r:u32(t, f.opterr)
	m.text = OPTERRORS[code] or tostring(code)
	t:add_proto_expert_info(ef.refused, m.text)
	if code == 1 or code == 2 or code == 4 or code == 5 then
		r:u32(t, f["opterr.expect"])
		r:u32(t, f["opterr.current"])
	elseif code >= 6 and code <= 8 then
		r:u32(t, f["opterr.value"])
		r:u32(t, f["opterr.min"])
		r:u32(t, f["opterr.max"])
	elseif code ~= 3 then
		error(SHORT, 0)
	end
end

-- ---- Frames --------------------------------------------------------------

local rpc = Dissector.get("rpc")

-- Show what is whole, and give it to RPC.
local function show_whole(w, tree, pinfo, root, here)
	if w.missing then
		tree:add_proto_expert_info(ef.missing)
		return
	end
	tree:add(f["whole.length"], #w.data):set_generated()
	tree:add(f["whole.fragments"], w.fragments):set_generated()
	tree:add(f["whole.placed"], w.placed):set_generated()
	if w.header ~= pinfo.number then
		tree:add(f.call_frame, w.header):set_generated()
	end
	local tvb = here
	if not tvb or tvb:len() ~= #w.data then
		tvb = ByteArray.new(w.data, true):tvb("RPC message")
	end
	rpc:call(tvb, pinfo, root)
end

local function dissect_message(tvb, pinfo, root, conn, from, to, key)
	local size = tvb:captured_len()
	local tree = root:add(p, tvb(0, size))
	local r = reader(tvb, 0, size)
	local m = { frame = pinfo.number, reads = {}, writes = {} }

	pinfo.cols.protocol = "RPCoRDMA2"
	if size < 16 then -- dropped in silence, [C1]
		tree:append_text(": too short")
		tree:add_proto_expert_info(ef.xdr)
		return
	end
	m.xid = r:u32(tree, f.xid)
	local vers = r:u32(tree, f.vers)
	r:u32(tree, f.credit)
	local htype = r:u32(tree, f.htype)
	local name = HTYPES[htype] or string.format("type 0x%x", htype)
	local decode = body[htype]

	if not decode then
		tree:add_proto_expert_info(ef.htype)
	else
		local good, err = pcall(decode, r, tree, m)
		if good and m.has_payload and not m.is_group and r:left() < 4 then
			good, err = false, SHORT -- [C5]
		end
		if not good then
			if err ~= SHORT then
				error(err, 0)
			end
			tree:add_proto_expert_info(ef.xdr)
			decode = nil
		end
	end
	local info = string.format("%s xid 0x%08x", name, m.xid)
	if m.text then
		info = info .. " " .. m.text
	end
	tree:append_text(": " .. info)
	pinfo.cols.info = info .. " "
	pinfo.cols.info:fence()
	if not decode then
		return
	end

	local inline
	if m.has_payload then
		local n = m.payload_len or r:left()
		m.payload = n > 0 and tvb:raw(r.at, n) or ""
		tree:add(f["payload.length"], n):set_generated()
		if n > 0 then
			tree:add(f.payload, tvb(r.at, n))
			inline = tvb(r.at, n):tvb()
		end
	elseif r:left() > 0 then
		tree:add(f.surplus, r:left()):set_generated()
	end
	if not frames[key] then
		frames[key] = advance(conn, from, to, m)
	end
	local done = frames[key]
	if done.cont then
		tree:add_proto_expert_info(ef.cont)
	end
	if done.whole then
		show_whole(done.whole, tree, pinfo, root, inline)
	end
end

-- The payload of an RDMA Write or of the answer to an RDMA Read.
local function dissect_data(tvb, pinfo, root, conn, from, to, opcode, key)
	local size = tvb:captured_len()
	local tree = root:add(p, tvb(0, size), "RDMA data: " .. size .. " octets")

	pinfo.cols.protocol = "RPCoRDMA2"
	if size > 0 then
		tree:add(f.data, tvb(0, size))
	end
	if not frames[key] then
		local handle, at = last(get_stag), last(get_to)
		local done = { wholes = {} }

		if size > 0 and handle then
			local data = tvb:raw(0, size)
			at = wide(at)
			if opcode == WRITE then
				place(conn, to, handle, at, data)
			else
				-- Into a sink of the reader's: whence?
				local list = of(of(conn.sinks, to), handle)
				for i = #list, 1, -1 do
					local s = list[i]
					local n = ahead(at, s.to)
					if n >= 0 and n < s.size then
						place(conn, from, s.source,
							plus(s.from, n), data)
						break
					end
				end
			end
		end
		-- Calls that waited for this.
		local list = of(conn.waiting, from)
		for i = 1, #list do
			local whole = finish_call(conn, from, list[1])
			if not whole then
				break
			end
			table.remove(list, 1)
			done.wholes[i] = whole
		end
		frames[key] = done
	end
	for _, w in ipairs(frames[key].wholes or {}) do
		show_whole(w, tree, pinfo, root)
	end
end

-- Is this a message of version 2, or about it?
local function known(tvb, conn)
	if tvb:captured_len() < 16 then
		return conn ~= nil
	end
	local vers, htype = tvb(4, 4):uint(), tvb(12, 4):uint()
	if vers == 2 then
		return HTYPES[htype] ~= nil or conn ~= nil
	end
	-- ERR_VERS and ERR_VERS_MISMATCH echo another version, [B1], [B3].
	if htype ~= 4 or tvb:captured_len() < 20 or (vers == 1 and not conn) then
		return false
	end
	local code = tvb(16, 4):uint()
	return (code == 1 and tvb:captured_len() == 28) or
		(code == 11 and tvb:captured_len() == 20)
end

-- One Send from its DDP segments: the whole, or nil if there is more to come.
-- Wireshark would do it, but it knows one Send in a frame only and passes over
-- the others; so it is told not to, and here is what it would have done.
local function assemble(tvb, pinfo, root, conn, from, key)
	local is_last, mo = last(get_last), last(get_mo)
	local size = tvb:captured_len()
	local done = frames[key .. " send"]

	if not done then
		local sofar = conn and conn.sends[from]

		done = {}
		if mo == 0 and not is_last and known(tvb, conn) then
			conn = conn or find_conn(pinfo, true)
			conn.sends[from] = tvb:raw(0, size)
			done.more = true
		elseif mo > 0 and sofar and #sofar == mo then
			sofar = sofar .. tvb:raw(0, size)
			done.more = not is_last
			done.data = is_last and sofar or nil
			conn.sends[from] = not is_last and sofar or nil
		elseif conn then
			conn.sends[from] = nil
		end
		frames[key .. " send"] = done
	end
	if done.data then
		return ByteArray.new(done.data, true):tvb("RDMA Send")
	end
	if done.more then
		pinfo.cols.protocol = "RPCoRDMA2"
		local tree = root:add(p, tvb(0, size), "Segment of a Send: " ..
			size .. " octets")
		tree:add(f.segment, tvb(0, size))
		return nil
	end
	return tvb
end

local function dissect(tvb, pinfo, root)
	local opcode, n = last(get_opcode)
	local conn, from, to = find_conn(pinfo, false)
	local key = pinfo.number .. ":" .. n

	if opcode == WRITE or opcode == READ_RESPONSE then
		if not conn then
			return false
		end
		dissect_data(tvb, pinfo, root, conn, from, to, opcode, key)
		return true
	end
	if opcode and (opcode < FIRST_SEND or opcode > LAST_SEND) then
		return false
	end
	local whole = not opcode and tvb or
		assemble(tvb, pinfo, root, conn, from, key)
	if not whole then
		return true
	end
	if not known(whole, conn) then
		return false
	end
	if not conn then
		conn = find_conn(pinfo, true)
	end
	tvb = whole
	dissect_message(tvb, pinfo, root, conn, from, to, key)
	return true
end

function p.dissector(tvb, pinfo, root)
	return dissect(tvb, pinfo, root) and tvb:len() or 0
end

set_preference("iwarp_ddp_rdmap.reassemble_iwarp_rdma_send", false)
p:register_heuristic("iwarp_ddp_rdmap", dissect)
p:register_heuristic("infiniband.payload", dissect)

-- RDMA Read Requests have no payload and so come to no heuristic. They are
-- read when the frame is done; the answer is in a later one.
local after = Proto("rpcrdma2_reads", "RPC-over-RDMA version 2, RDMA Reads")

function after.dissector(tvb, pinfo, root)
	local sink = { get_sinkstag() }
	local conn, from = find_conn(pinfo, false)
	local key = pinfo.number .. " reads"
	if #sink == 0 or not conn or frames[key] then
		return
	end
	frames[key] = true
	local sinkto, size = { get_sinkto() }, { get_readsize() }
	local source, sourceto = { get_srcstag() }, { get_srcto() }
	for i = 1, #sink do
		local list = of(of(conn.sinks, from), sink[i].value)
		list[#list + 1] = { to = wide(sinkto[i].value),
			size = size[i].value, source = source[i].value,
			from = wide(sourceto[i].value) }
	end
end
-- With all fields, also while a file is only being read in: else those of
-- iWARP that are asked for above might not be there yet.
register_postdissector(after, true)
