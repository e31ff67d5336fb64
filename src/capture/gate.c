/* SPDX-License-Identifier: Apache-2.0
 *
 * MADV_WIPEONFORK (Linux 4.14). On an older kernel the fork handler alone closes the gate.
 */
#include "capture/gate.h"

#include <stddef.h>
#include <sys/mman.h>

static LsGate spare;
LsGate *ls_gate = &spare;

void
ls_gate_open(void)
{
    if (ls_gate != &spare)
        return;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
#ifdef MADV_WIPEONFORK
    madvise(page, 4096, MADV_WIPEONFORK);
#endif
    ls_gate = page;
}
