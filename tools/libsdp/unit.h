/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * SDP sockets for services of systemd: the drop-in file of a unit.
 */
#ifndef LIBSDP_UNIT_H
#define LIBSDP_UNIT_H

#include <stdbool.h>

/**
 * struct unit_settings - what a service is to have
 * @library: path of libsdp.so
 * @config: rules instead of the usual ones, an absolute path, or NULL
 * @only: SDP or nothing, as sdp-run -o
 * @verbose: the library's decisions go to the journal
 */
struct unit_settings {
	const char *library;
	const char *config;
	bool only;
	bool verbose;
};

/**
 * unit_enable() - write the drop-in and have systemd read it
 * @unit: name, with or without ".service"
 * @set: settings
 *
 * Return: false if there is no such unit, or the drop-in cannot be written or read. True also
 * if it does not reach a program of the unit, which a message says.
 */
bool unit_enable(const char *unit, const struct unit_settings *set);

/**
 * unit_disable() - undo unit_enable()
 * @unit: name
 *
 * Return: false if it was not enabled, or remains so.
 */
bool unit_disable(const char *unit);

#endif /* LIBSDP_UNIT_H */
