/**
 * Clear commands of operators: `ping`, `publish`, `runner`, `wheel`, `mk_token`, `get_token`. The key of a local user is checked here. The main
 * thread checks tokens and passwords. docs/protocol.md section 7.2.
 */
import { clearFrameBytesMax, credentialLoadBytesMax, credentialTextBytesMax, loadMembersMax } from "../../limits.ts";
import { headOf, mapEntries } from "../../wire/walk.ts";
import type { CredentialTask } from "../credentials/contract.ts";
import type { Shard } from "../holding/shard.ts";
import type { Caller } from "../messages/deferred.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { bytesOf, field, fieldBytes, textOf } from "./fields.ts";
import { keyOwner } from "./key-owner.ts";
import { operatorRefusal } from "./operator-refusal.ts";

/** Fields with credentials among them: a load's own, or a publish's `kwargs`. */
type Fields = Pick<Opened, "load" | "entries">;

/** @returns undefined for an unknown command */
export function handleClear(shard: Shard, batch: BatchEffects, opened: Opened): Answer | undefined {
  switch (opened.cmd) {
    case "ping":
      // Echoed unread, because every client may send it.
      return { packed: opened.load };
    case "publish":
      return handlePublish(shard, batch, opened);
    case "runner":
    case "wheel":
      return handleCommand(shard, batch, opened, opened.cmd);
    case "mk_token":
      return handleMakeToken(shard, opened);
    case "get_token":
      return handleReadToken(opened);
    default:
      return undefined;
  }
}

function handlePublish(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const caller = callerOf(shard, batch, opened, kwargsOf(opened));
  if ("kind" in caller) return { deferred: { kind: "publish", load: Uint8Array.from(opened.load), caller } };
  shard.count("refused.credential");
  return { value: operatorRefusal("publish", caller.refused) };
}

function handleCommand(shard: Shard, batch: BatchEffects, opened: Opened, command: "runner" | "wheel"): Answer {
  const caller = callerOf(shard, batch, opened, opened);
  if ("kind" in caller) return { deferred: { kind: "command", command, load: Uint8Array.from(opened.load), caller } };
  shard.count("refused.credential");
  return { value: operatorRefusal(command, caller.refused) };
}

function handleMakeToken(shard: Shard, opened: Opened): Answer {
  const credential = credentialIn(opened);
  if (credential === undefined) {
    shard.count("refused.credential");
    return { value: "" };
  }
  const asked = has(opened, "token_expire") ? field(opened.load, opened.entries, "token_expire") : undefined;
  return { deferred: { kind: "makeToken", credential, expireSeconds: typeof asked === "number" ? asked : undefined } };
}

function handleReadToken(opened: Opened): Answer {
  if (!has(opened, "token")) return { value: false };
  const token = boundedText(opened, "token");
  return token === undefined ? { value: new Map() } : { deferred: { kind: "readToken", token } };
}

/** Salt's clients put token or password of a publish into its `kwargs`. Without either the key counts. */
function kwargsOf(opened: Opened): Fields {
  const load = fieldBytes(opened.load, opened.entries, "kwargs");
  if (load === undefined || headOf(load, 0).kind !== "map") return { load: opened.load, entries: [] };
  return { load, entries: mapEntries(load, loadMembersMax) };
}

/** The client, or the kind of credential that is refused unchecked. A token goes before a password, and both before a key. */
function callerOf(
  shard: Shard,
  batch: BatchEffects,
  opened: Opened,
  fields: Fields,
): Caller | { readonly refused: Caller["kind"] } {
  const { user: masterUser } = shard.start.config;
  const claimed = textOf(opened.load, opened.entries, "user") ?? masterUser;
  if (has(fields, "token")) {
    const token = boundedText(fields, "token");
    // A large load is not held for an unknown token.
    const isWorthALook =
      opened.load.byteLength <= clearFrameBytesMax || (token !== undefined && shard.knowsToken(token));
    return token === undefined || !isWorthALook ? { refused: "token" } : { kind: "token", user: claimed, token };
  }
  if (has(fields, "eauth")) {
    const credential = opened.load.byteLength > credentialLoadBytesMax ? undefined : credentialIn(fields);
    return credential === undefined ? { refused: "eauth" } : { kind: "eauth", user: claimed, credential };
  }
  const key = bytesOf(opened.load, opened.entries, "key");
  const owner = keyOwner(shard.start, claimed, key);
  if (owner === undefined) return { refused: "key" };
  batch.proven[batch.item] = 1;
  return { kind: "key", user: claimed, isMaster: owner === masterUser };
}

function credentialIn(fields: Fields): CredentialTask | undefined {
  const [eauth, username, password] = ["eauth", "username", "password"].map((name) => boundedText(fields, name));
  if (eauth === undefined || username === undefined || password === undefined) return undefined;
  return { eauth, username, password };
}

function has({ entries }: Fields, key: string): boolean {
  return entries.some((entry) => entry.key === key);
}

/** Undefined for a text over the bound, because every client on the network may send one. */
function boundedText({ load, entries }: Fields, key: string): string | undefined {
  const text = textOf(load, entries, key);
  return text === undefined || Buffer.byteLength(text) > credentialTextBytesMax ? undefined : text;
}
