/**
 * Clear commands of local users: `ping`, `publish`, `runner`, `wheel`, authenticated by the local key file's content.
 * Tokens and external authentication are refused as Salt refuses credentials that it does not know. docs/protocol.md section 7.2.
 */
import { equalSecrets } from "../../crypto/compare.ts";
import type { Shard } from "../shard.ts";
import type { Answer, Opened } from "./context.ts";
import { bytesOf, textOf } from "./fields.ts";

function refusal(name: string, message: string): Answer {
  return { value: { error: { name, message } } };
}

/** Which credential a load carries, and with which words Salt refuses it. */
function credential(opened: Opened): { readonly kind: "token" | "eauth" | "user"; readonly error: string } {
  const has = (key: string) => opened.entries.some((entry) => entry.key === key);
  if (has("token")) return { kind: "token", error: "TokenAuthenticationError" };
  if (has("eauth")) return { kind: "eauth", error: "EauthAuthenticationError" };
  return { kind: "user", error: "UserAuthenticationError" };
}

/** The local user that the load proves to be; undefined if it does not. `sudo_NAME` uses root's key. */
function localUser(shard: Shard, opened: Opened): string | undefined {
  const key = bytesOf(opened.load, opened.entries, "key");
  if (key === undefined) return undefined;
  const claimed = textOf(opened.load, opened.entries, "user") ?? shard.start.config.user;
  const keyOwner = claimed.startsWith("sudo_") ? shard.start.config.user : claimed;
  const expected = shard.start.localKeys.get(keyOwner);
  return expected !== undefined && equalSecrets(expected, key) ? claimed : undefined;
}

export function handleClear(shard: Shard, opened: Opened): Answer {
  switch (opened.cmd) {
    case "ping":
      // Echoed unread: it is asked for by anybody.
      return { packed: opened.load };
    case "publish":
      return handlePublish(shard, opened);
    case "runner":
    case "wheel":
      return handleCommand(shard, opened, opened.cmd);
    case "mk_token":
      shard.count("refused.credential");
      return { value: "" };
    case "get_token":
      return { value: new Map() };
    default:
      return { value: new Map() };
  }
}

function handlePublish(shard: Shard, opened: Opened): Answer {
  const user = credential(opened).kind === "user" ? localUser(shard, opened) : undefined;
  if (user === undefined) {
    shard.count("refused.credential");
    return refusal("AuthenticationError", "Authentication error occurred.");
  }
  return { deferred: { kind: "publish", load: Uint8Array.from(opened.load), user } };
}

function handleCommand(shard: Shard, opened: Opened, command: "runner" | "wheel"): Answer {
  const { kind, error } = credential(opened);
  const user = kind === "user" ? localUser(shard, opened) : undefined;
  if (user === undefined) {
    shard.count("refused.credential");
    return refusal(error, `Authentication failure of type "${kind}" occurred`);
  }
  return { deferred: { kind: "command", command, load: Uint8Array.from(opened.load), user } };
}
