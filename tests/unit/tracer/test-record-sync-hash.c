/* SPDX-License-Identifier: Apache-2.0
 *
 * What seals the words of the clocks' hub: SHA-256 and HMAC against their published vectors and
 * GLib's.
 */
#include "tracer/record-sync-hash.h"

#include <glib.h>
#include <string.h>

static char *
hex(const uint8_t *bytes, size_t n)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < n; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    return g_string_free(text, FALSE);
}

/* FIPS 180-2, appendix B, and the empty text. */
static void
test_hash(void)
{
    static const struct {
        const char *text;
        size_t times;
        const char *digest;
    } vectors[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(vectors); i++) {
        uint8_t digest[LS_HASH_BYTES];
        LsHash hash;
        ls_hash_begin(&hash);
        for (size_t k = 0; k < vectors[i].times; k++)
            ls_hash_add(&hash, vectors[i].text, strlen(vectors[i].text));
        ls_hash_end(&hash, digest);
        g_autofree char *text = hex(digest, sizeof digest);
        g_assert_cmpstr(text, ==, vectors[i].digest);
    }
    /* Every length around a block's end, in one piece and byte by byte, against GLib's. */
    for (size_t length = 0; length < 200; length++) {
        uint8_t data[200], digest[LS_HASH_BYTES];
        LsHash hash;
        for (size_t i = 0; i < length; i++)
            data[i] = (uint8_t)(i * 7 + length);
        ls_hash_begin(&hash);
        for (size_t i = 0; i < length; i++)
            ls_hash_add(&hash, data + i, 1);
        ls_hash_end(&hash, digest);
        g_autofree char *text = hex(digest, sizeof digest);
        g_autofree char *expected = g_compute_checksum_for_data(G_CHECKSUM_SHA256, data, length);
        g_assert_cmpstr(text, ==, expected);
    }
}

/* RFC 4231, and GLib's for keys of every length. */
static void
test_seal(void)
{
    const LsHashPart parts[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
    uint8_t seal[LS_HASH_BYTES], key[150];
    ls_hash_seal(seal, "Jefe", 4, parts, 2);
    g_autofree char *text = hex(seal, sizeof seal);
    g_assert_cmpstr(text, ==, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    for (size_t length = 1; length < sizeof key; length += 7) {
        memset(key, (int)length, sizeof key);
        ls_hash_seal(seal, key, length, parts, 2);
        g_autofree char *own = hex(seal, sizeof seal);
        g_autofree char *expected = g_compute_hmac_for_data(
            G_CHECKSUM_SHA256, key, length, (const guchar *)"what do ya want for nothing?", 28);
        g_assert_cmpstr(own, ==, expected);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tracer/record-sync/hash-is-sha-256", test_hash);
    g_test_add_func("/tracer/record-sync/seal-is-hmac", test_seal);
    return g_test_run();
}
