/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads the recorder, marks, and unloads it while its thread runs and other threads still hold
 * rings.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

typedef void (*InstantFunction)(const char *);
static InstantFunction instant;

static void *
mark_slowly(void *user)
{
    for (int i = 0; i < 20; i++) {
        instant("made");
        usleep(5000);
    }
    return user;
}

int
main(int argc, char **argv)
{
    pthread_t thread;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL)
        return 2;
    *(void **)&instant = dlsym(library, "lockstep_instant");
    if (instant == NULL)
        return 2;
    for (int i = 0; i < 100; i++)
        instant("made");
    pthread_create(&thread, NULL, mark_slowly, NULL);
    printf("unload: %d\n", dlclose(library));
    usleep(60000);
    pthread_join(thread, NULL);
    printf("made 120\n");
    return 0;
}
