/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay FOLDER: runs a target over every file of a folder, as libFuzzer does, with any compiler
 * and any sanitizer. Prints TAP. A seed that once crashed stays fixed.
 */
#include "fuzz.h"

#include <dirent.h>

#define SEED_BYTES_MAX (4u << 20)

int main(int argc, char **argv)
{
	static uint8_t data[SEED_BYTES_MAX];
	struct dirent **names;
	int n = argc > 1 ? scandir(argv[1], &names, NULL, alphasort) : -1;
	unsigned int number = 0;

	if (n < 0) {
		fprintf(stderr, "usage: replay FOLDER\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	printf("1..%d\n", n - 2); /* but "." and ".." */
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		char path[4096];
		FILE *file;

		if (strcmp(name, ".") && strcmp(name, "..")) {
			snprintf(path, sizeof(path), "%s/%s", argv[1], name);
			file = fopen(path, "rb");
			if (file) {
				size_t size = fread(data, 1, sizeof(data), file);
				uint8_t *exact = malloc(size ? size : 1);

				memcpy(exact, data, size);
				LLVMFuzzerTestOneInput(exact, size);
				free(exact);
				fclose(file);
			}
			printf("%sok %u - %s\n", file ? "" : "not ", ++number, name);
		}
		free(names[i]);
	}
	free(names);
	return 0;
}
