/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/observers.c: apart before ranks are told, since an observer has none; told of as findings
 * of the run, since its file says what could not be measured. That its recorder was not closed is
 * no loss: only trips were in it, and what is left of them counts.
 */
#include "merge/observers.h"

GPtrArray *
ls_observers_part(GPtrArray *processes)
{
    GPtrArray *observers = g_ptr_array_new_with_free_func((GDestroyNotify)ls_process_free);

    for (guint i = 0; i < processes->len;) {
        LsProcess *process = g_ptr_array_index(processes, i);

        if (process->observer)
            g_ptr_array_add(observers, g_ptr_array_steal_index(processes, i));
        else
            i++;
    }
    return observers;
}

void
ls_observers_end(GPtrArray *observers, LsBuilder *builder)
{
    for (guint i = 0; i < observers->len; i++) {
        const LsProcess *observer = g_ptr_array_index(observers, i);

        for (guint k = 0; k < observer->findings->len; k++) {
            const LsFinding *finding = &g_array_index(observer->findings, LsFinding, k);

            ls_builder_add_finding(builder, finding->severity, finding->file, finding->offset, -1,
                                   finding->text);
        }
    }
    g_ptr_array_unref(observers);
}
