/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_main.c - replays a corpus through a fuzz target without libFuzzer, so that every test run with any
 * compiler covers it. Each file is fed whole and, up to 512 bytes, at every truncation.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A heap copy of exactly the right size, so that a sanitizer sees one byte too far. */
static void feed(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int replay(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!f) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	feed(data, size);
	for (size_t cut = 0; cut < size && cut < 512; cut++)
		feed(data, cut);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent *e;
	DIR *dir;
	int n = 0, failed = 0;

	if (argc != 2 || !(dir = opendir(argv[1]))) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY (which must exist)\n", argv[0]);
		return 2;
	}
	while ((e = readdir(dir))) {
		char path[4096];

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
		failed |= replay(path);
		n++;
	}
	closedir(dir);
	if (!n)
		fprintf(stderr, "%s: the corpus is empty\n", argv[1]);
	printf("%d inputs replayed\n", n);
	return failed || !n;
}
