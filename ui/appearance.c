/* SPDX-License-Identifier: Apache-2.0
 *
 * GTK 4.8 does not read the desktop's colour scheme itself: it is asked of the settings portal over
 * D-Bus (org.freedesktop.appearance, color-scheme: 1 = dark). Without a portal it is light.
 */
#include "ui/appearance.h"

#define PORTAL          "org.freedesktop.portal.Desktop"
#define PORTAL_PATH     "/org/freedesktop/portal/desktop"
#define PORTAL_SETTINGS "org.freedesktop.portal.Settings"
#define NAMESPACE       "org.freedesktop.appearance"

/* The one appearance of the process, like the GtkSettings that it sets. */
static struct {
    const char *choice;
    bool desktop_dark;
    GDBusProxy *portal;
    GtkCssProvider *colours; /* of the theme, by name, for the style sheet */
    void (*changed)(const LsTheme *theme, void *user);
    void *user;
} appearance = {.choice = "system"};

static bool
is_dark(void)
{
    if (g_str_equal(appearance.choice, "system"))
        return appearance.desktop_dark;
    return g_str_equal(appearance.choice, "dark");
}

/* Labels beside the drawing stand on the same surfaces as the drawing. */
static void
apply_colours(const LsTheme *theme)
{
    if (!appearance.colours)
        return;
    g_autofree char *css =
        g_strdup_printf("@define-color ls_panel #%06x;"
                        "@define-color ls_header #%06x;"
                        "@define-color ls_line #%06x;"
                        "@define-color ls_accent #%06x;"
                        "@define-color ls_alarm #%06x;",
                        theme->panel, theme->header, theme->line, theme->accent, theme->alarm);
    gtk_css_provider_load_from_data(appearance.colours, css, -1);
}

static void
apply(void)
{
    apply_colours(ls_appearance_get_theme());
    g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", is_dark(), NULL);
    if (appearance.changed)
        appearance.changed(ls_appearance_get_theme(), appearance.user);
}

static void
take_scheme(GVariant *value)
{
    GVariant *inner = g_variant_ref(value);
    while (g_variant_is_of_type(inner, G_VARIANT_TYPE_VARIANT)) {
        GVariant *next = g_variant_get_variant(inner);
        g_variant_unref(inner);
        inner = next;
    }
    if (g_variant_is_of_type(inner, G_VARIANT_TYPE_UINT32))
        appearance.desktop_dark = g_variant_get_uint32(inner) == 1;
    g_variant_unref(inner);
    apply();
}

static void
scheme_read(GObject *source, GAsyncResult *result, void *user)
{
    g_autoptr(GVariant) reply = g_dbus_proxy_call_finish(G_DBUS_PROXY(source), result, NULL);
    if (!reply)
        return;
    g_autoptr(GVariant) value = g_variant_get_child_value(reply, 0);
    take_scheme(value);
}

static void
portal_signalled(GDBusProxy *proxy, const char *sender, const char *signal, GVariant *parameters,
                 void *user)
{
    const char *space, *key;
    if (!g_str_equal(signal, "SettingChanged") ||
        !g_variant_is_of_type(parameters, G_VARIANT_TYPE("(ssv)")))
        return;
    g_autoptr(GVariant) value = NULL;
    g_variant_get(parameters, "(&s&s@v)", &space, &key, &value);
    if (g_str_equal(space, NAMESPACE) && g_str_equal(key, "color-scheme"))
        take_scheme(value);
}

static void
portal_found(GObject *source, GAsyncResult *result, void *user)
{
    appearance.portal = g_dbus_proxy_new_for_bus_finish(result, NULL);
    if (!appearance.portal)
        return;
    g_signal_connect(appearance.portal, "g-signal", G_CALLBACK(portal_signalled), NULL);
    g_dbus_proxy_call(appearance.portal, "Read", g_variant_new("(ss)", NAMESPACE, "color-scheme"),
                      G_DBUS_CALL_FLAGS_NO_AUTO_START, 1000, NULL, scheme_read, NULL);
}

void
ls_appearance_start(const char *choice)
{
    g_autoptr(GtkCssProvider) css = gtk_css_provider_new();
    gtk_css_provider_load_from_resource(css, "/lockstep/style.css");
    gtk_style_context_add_provider_for_display(gdk_display_get_default(), GTK_STYLE_PROVIDER(css),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    appearance.colours = gtk_css_provider_new();
    gtk_style_context_add_provider_for_display(gdk_display_get_default(),
                                               GTK_STYLE_PROVIDER(appearance.colours),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    /* A sentence that can be copied is not marked as if it had been. */
    g_object_set(gtk_settings_get_default(), "gtk-label-select-on-focus", FALSE, NULL);
    ls_appearance_choose(choice);
    g_dbus_proxy_new_for_bus(G_BUS_TYPE_SESSION,
                             G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START |
                                 G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES,
                             NULL, PORTAL, PORTAL_PATH, PORTAL_SETTINGS, NULL, portal_found, NULL);
}

void
ls_appearance_choose(const char *choice)
{
    static const char *const choices[] = {"system", "light", "dark"};
    for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
        if (g_str_equal(choices[i], choice))
            appearance.choice = choices[i];
    apply();
}

const char *
ls_appearance_get_choice(void)
{
    return appearance.choice;
}

const LsTheme *
ls_appearance_get_theme(void)
{
    return ls_theme_find(is_dark() ? "dark" : "light");
}

void
ls_appearance_listen(void (*changed)(const LsTheme *theme, void *user), void *user)
{
    appearance.changed = changed;
    appearance.user = user;
}
