/** Options of the renderer `gpg` and of `decrypt_pillar`: a master's, and those of a minion that compiles its own pillar. */
import { timerSecondsMax } from "./details.ts";
import { any, boolean, choice, integer, list, optional, text } from "./option.ts";

export const decryptionOptions = {
  gpg_keydir: optional(
    text("", "gpg's directory with the secret keys. Without it `gpgkeys` beside the configuration."),
  ),
  gpg_decrypt_must_succeed: boolean(
    true,
    "A message that gpg cannot decrypt is an error in the pillar. If off, it stays as it is, and the log says so.",
  ),
  gpg_cache: boolean(
    false,
    "Keep decrypted messages in the memory of each rendering thread, so that gpg runs once for each.",
  ),
  gpg_cache_ttl: integer(86_400, "How long `gpg_cache` keeps them.", { min: 0, max: timerSecondsMax, unit: "seconds" }),
  gpg_cache_backend: choice(
    "disk",
    ["disk", "memory"],
    "Where Salt keeps decrypted messages. Here they are always in memory and never on disk.",
  ),
  decrypt_pillar: any(
    [],
    "Paths in pillars (`a:b`) whose values are decrypted at the end, or maps from a path to its renderer, which here is `gpg`. Others [refuse the start](#options-that-are-not-built).",
  ),
  decrypt_pillar_default: text("gpg", "The renderer of paths that name none."),
  decrypt_pillar_delimiter: text(":", "What separates the keys of a path in `decrypt_pillar`."),
  decrypt_pillar_renderers: list(["gpg"], "Renderers that `decrypt_pillar` may name."),
};
