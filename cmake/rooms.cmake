# SPDX-License-Identifier: BSD-3-Clause
#
# rpcrdma_rooms(TARGET): the sources that TARGET has so far, which stand in folders
# below src, find those headers of the project that their room may include, and no
# others. Which these are is in tests/architecture/rooms.
#
# For each room there is a folder of links to headers, build/rooms/ROOM. What a
# header of include/rpcrdma includes is linked along with it; so is what one
# includes that is only there because the table says that this is known to be
# wrong.
set(rooms_table ${PROJECT_SOURCE_DIR}/tests/architecture/rooms)
set(rooms_dir ${PROJECT_BINARY_DIR}/rooms)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rooms_table})

# NAME as it is included; ROOT is a room's folder of links. FOLLOW: with what it
# includes, whichever header it is.
function(rooms_link root name follow)
	get_property(there GLOBAL PROPERTY rooms_links)
	if(${root}/${name} IN_LIST there)
		return()
	endif()
	set_property(GLOBAL APPEND PROPERTY rooms_links ${root}/${name})
	if(name MATCHES "^rpcrdma/")
		set(path ${PROJECT_SOURCE_DIR}/include/${name})
	else()
		set(path ${PROJECT_SOURCE_DIR}/src/${name})
	endif()
	get_filename_component(dir ${root}/${name} DIRECTORY)
	file(MAKE_DIRECTORY ${dir})
	# One that is there stays: something may be compiling.
	if(NOT EXISTS ${root}/${name})
		file(CREATE_LINK ${path} ${root}/${name} SYMBOLIC)
	endif()
	if(NOT follow AND NOT name MATCHES "^rpcrdma/")
		return()
	endif()
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
	file(STRINGS ${path} lines REGEX "^#include \"")
	foreach(line IN LISTS lines)
		string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" wanted ${line})
		if(NOT wanted MATCHES "/")
			get_filename_component(beside ${name} DIRECTORY)
			set(wanted ${beside}/${wanted})
		endif()
		rooms_link(${root} ${wanted} ${follow})
	endforeach()
endfunction()

function(rooms_link_room root room promises follow)
	file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR}/src CONFIGURE_DEPENDS
		${PROJECT_SOURCE_DIR}/src/${room}/*.h)
	foreach(header IN LISTS headers)
		rooms_link(${root} ${header} ${follow})
	endforeach()
	foreach(header IN LISTS promises)
		rooms_link(${root} rpcrdma/${header} ${follow})
	endforeach()
endfunction()

file(STRINGS ${rooms_table} rooms_lines REGEX "^[^#]")
# First what each promises, since what is known to be wrong is not in order.
foreach(line IN LISTS rooms_lines)
	string(REGEX MATCH "^([^ \t:]+)([^:]*):(.*)$" match "${line}")
	set(room ${CMAKE_MATCH_1})
	set(head "${CMAKE_MATCH_2}")
	set(tail "${CMAKE_MATCH_3}")
	separate_arguments(head UNIX_COMMAND "${head}")
	separate_arguments(tail UNIX_COMMAND "${tail}")
	set(rooms_promises_${room} ${head})
	list(FILTER tail INCLUDE REGEX "/.*\\.h$")
	set(rooms_headers_${room} ${tail})
endforeach()
function(rooms_link_all room names follow)
	foreach(other IN LISTS names)
		if(other MATCHES "/.*\\.h$")
			# With what it includes.
			rooms_link(${rooms_dir}/${room} ${other} TRUE)
		elseif(other MATCHES "\\.h$")
			rooms_link(${rooms_dir}/${room} rpcrdma/${other} ${follow})
		else()
			rooms_link_room(${rooms_dir}/${room} ${other}
				"${rooms_promises_${other}}" ${follow})
			# Its headers include them.
			foreach(header IN LISTS rooms_headers_${other})
				rooms_link(${rooms_dir}/${room} ${header} TRUE)
			endforeach()
		endif()
	endforeach()
endfunction()

foreach(line IN LISTS rooms_lines)
	string(REGEX MATCH "^([^ \t:]+)[^:]*:([^!]*)!?(.*)$" match "${line}")
	set(room ${CMAKE_MATCH_1})
	set(right "${CMAKE_MATCH_2}")
	set(wrong "${CMAKE_MATCH_3}")
	separate_arguments(right UNIX_COMMAND "${right}")
	separate_arguments(wrong UNIX_COMMAND "${wrong}")
	rooms_link_all(${room} "${wrong}" TRUE)
	rooms_link_all(${room} "${right}" FALSE)
	rooms_link_all(${room} ${room} FALSE)
endforeach()

# What is not allowed any more.
get_property(rooms_links GLOBAL PROPERTY rooms_links)
file(GLOB_RECURSE rooms_there LIST_DIRECTORIES false ${rooms_dir}/*)
list(REMOVE_ITEM rooms_there "" ${rooms_links})
if(rooms_there)
	file(REMOVE ${rooms_there})
endif()

function(rpcrdma_rooms target)
	get_target_property(sources ${target} SOURCES)
	foreach(source IN LISTS sources)
		get_filename_component(path ${source} ABSOLUTE)
		get_filename_component(dir ${path} DIRECTORY)
		file(RELATIVE_PATH room ${PROJECT_SOURCE_DIR}/src ${dir})
		set_property(SOURCE ${source} APPEND PROPERTY
			INCLUDE_DIRECTORIES ${rooms_dir}/${room})
	endforeach()
endfunction()
