/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.h: a folder that a test made, and all that lies in it, removed.
 */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>

static inline void
folder_remove(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
            folder_remove(path);
        else
            g_unlink(path);
    }
    g_rmdir(folder);
}
