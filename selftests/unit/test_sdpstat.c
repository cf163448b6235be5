// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Output of sdpstat: names that hold anything, counters that fall. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/sdpstat/sdpstat.h"
#include "unit.h"

static char *text;

static struct json begin(void)
{
	static size_t len;
	struct json j;

	json_start(&j, open_memstream(&text, &len));
	return j;
}

static void is(struct json *j, const char *what)
{
	json_end(j);
	fclose(j->f);
	if (!CHECK(!strcmp(text, what)))
		printf("# got %s# not %s", text, what);
	free(text);
}

static void name_is(const char *name, const char *what)
{
	struct json j = begin();
	char want[64];

	json_str(&j, "n", name);
	snprintf(want, sizeof(want), "{\"n\":\"%s\"}\n", what);
	is(&j, want);
}

static void test_names(void)
{
	name_is("plain", "plain");
	name_is("\"\\\n\x7f", "\\\"\\\\\\u000a\\u007f");
	name_is("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	name_is("\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void test_broken_names(void)
{
	name_is("cut\xc3", "cut\\ufffd");
	name_is("\xe2\x82", "\\ufffd\\ufffd");
	name_is("a\xffz", "a\\ufffdz");
	name_is("\xc0\x80", "\\ufffd\\ufffd"); /* longer than need be */
	name_is("\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd");
	name_is("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"); /* a surrogate */
	name_is("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
	name_is("\xc3(", "\\ufffd(");
}

static void test_change(void)
{
	static const uint64_t old[SDP_MIB_PAD + 4] = {
		[SDP_MIB_PAD + 1] = 5,
		[SDP_MIB_PAD + 2] = 5,
		[SDP_MIB_PAD + 3] = 5,
	};
	static const uint64_t now[SDP_MIB_PAD + 4] = {
		[SDP_MIB_PAD + 1] = 7,
		[SDP_MIB_PAD + 2] = 2,
		[SDP_MIB_PAD + 3] = 5,
	};
	const struct options o = { 0 };
	char name[3][32], want[300];
	struct json j = begin();
	int n;

	for (int i = 0; i < 3; i++)
		snprintf(name[i], sizeof(name[i]), "%s",
			 counter_name(SDP_MIB_PAD + 1 + i, want, sizeof(want)));
	counters_json(&j, now, old, SDP_MIB_PAD + 4, &o);
	n = snprintf(want, sizeof(want),
		     "{\"counters\":{\"%s\":7,\"%s\":2,\"%s\":5},", name[0],
		     name[1], name[2]);
	snprintf(want + n, sizeof(want) - n,
		 "\"change\":{\"%s\":2,\"%s\":-3}}\n", name[0], name[1]);
	is(&j, want);
}

/* The table with this socket in it, to @out, with a zero behind it */
static void table_of(uint32_t inode, char *out, size_t room)
{
	struct sock_info s = { .family = AF_INET, .inode = inode };
	const struct sock_list list = { .v = &s, .n = 1 };
	const struct options o = { .processes = true };
	int file = memfd_create("table", 0), saved;
	ssize_t n;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(file, STDOUT_FILENO);
	processes_scan();
	sockets_print(&list, NULL, 1, &o);
	dup2(saved, STDOUT_FILENO);
	n = pread(file, out, room - 1, 0);
	out[n > 0 ? n : 0] = '\0';
	close(saved);
	close(file);
}

static void test_process_names(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char was[17] = "", out[1000];
	struct stat st;

	prctl(PR_GET_NAME, was);
	prctl(PR_SET_NAME, "a\033[J\",\xc2\x9b\xff\xc3\xbc");
	fstat(fd, &st);
	table_of(st.st_ino, out, sizeof(out));
	prctl(PR_SET_NAME, was);
	if (!CHECK(strstr(out, " users:((\"a?[J?,??\xc3\xbc\",pid=")))
		printf("# got %s", out);
	close(fd);
}

static const struct unit_test tests[] = {
	{ "names", test_names },
	{ "names that are no text", test_broken_names },
	{ "counters that rise and fall", test_change },
	{ "names of processes in a table", test_process_names },
};

int main(void)
{
	return unit_main("sdpstat", tests, ARRAY_LEN(tests));
}
