/* SPDX-License-Identifier: BSD-2-Clause */
/* A cache of a trace's open files, bounded by the descriptor limit. */
#include "store/files.h"

#include <errno.h>
#include <unistd.h>

void rs_files_init(struct rs_files *files, const struct rs_folder *folder, uint32_t most)
{
	*files = (struct rs_files){ .folder = folder, .most = most };
	pthread_mutex_init(&files->lock, NULL);
}

/* ---- under the lock ------------------------------------------------------------------------ */

static void unlink_file(struct rs_files *files, struct rs_file *file)
{
	*(file->newer ? &file->newer->older : &files->newest) = file->older;
	*(file->older ? &file->older->newer : &files->oldest) = file->newer;
}

static void link_newest(struct rs_files *files, struct rs_file *file)
{
	file->newer = NULL;
	file->older = files->newest;
	*(files->newest ? &files->newest->newer : &files->oldest) = file;
	files->newest = file;
}

static void shut(struct rs_files *files, struct rs_file *file)
{
	unlink_file(files, file);
	close(file->fd);
	file->is_open = false;
	files->n--;
}

static bool shut_oldest(struct rs_files *files)
{
	struct rs_file *file = files->oldest;

	while (file && file->is_used)
		file = file->newer;
	if (file)
		shut(files, file);
	return file != NULL;
}

/* ENFILE: other processes may use all descriptors of the system. */
static struct rs_error *open_file(struct rs_files *files, struct rs_file *file, const char *name,
				  int flags)
{
	struct rs_error *err;

	while (files->n >= files->most && shut_oldest(files))
		;
	do {
		file->fd = rs_folder_open_file(files->folder, name, flags);
	} while (file->fd < 0 && (errno == EMFILE || errno == ENFILE) && shut_oldest(files));
	if (file->fd < 0) { /* restored for the error's text */
		err = rs_folder_fd(files->folder, name, flags, &file->fd);
		if (err)
			return err;
	}
	file->is_open = true;
	files->n++;
	link_newest(files, file);
	return NULL;
}

/* -------------------------------------------------------------------------------------------- */

struct rs_error *rs_files_get(struct rs_files *files, struct rs_file *file, const char *name,
			      int flags, int *fd)
{
	struct rs_error *err = NULL;

	pthread_mutex_lock(&files->lock);
	if (!file->is_open) {
		err = open_file(files, file, name, flags);
	} else if (files->newest != file) {
		unlink_file(files, file);
		link_newest(files, file);
	}
	if (!err) {
		file->is_used = true;
		*fd = file->fd;
	}
	pthread_mutex_unlock(&files->lock);
	return err;
}

void rs_files_put(struct rs_files *files, struct rs_file *file)
{
	pthread_mutex_lock(&files->lock);
	file->is_used = false;
	pthread_mutex_unlock(&files->lock);
}

void rs_files_close(struct rs_files *files, struct rs_file *file)
{
	pthread_mutex_lock(&files->lock);
	if (file->is_open && !file->is_used)
		shut(files, file);
	pthread_mutex_unlock(&files->lock);
}

bool rs_files_spare(struct rs_files *files)
{
	bool any;

	pthread_mutex_lock(&files->lock);
	any = shut_oldest(files);
	pthread_mutex_unlock(&files->lock);
	return any;
}

void rs_files_deinit(struct rs_files *files)
{
	if (!files->folder)
		return;
	while (rs_files_spare(files))
		;
	pthread_mutex_destroy(&files->lock);
	*files = (struct rs_files){ 0 };
}
