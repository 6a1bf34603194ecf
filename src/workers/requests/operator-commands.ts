/**
 * Clear commands of operators: `ping`, `publish`, `runner`, `wheel`, `mk_token`, `get_token`. This file checks the keys of local users. The main
 * thread checks tokens and passwords. docs/protocol.md section 7.2.
 */
import { isIP } from "node:net";
import { apiKeyUser } from "../../config/api-key.ts";
import {
  auditTextLengthMax,
  clearFrameBytesMax,
  credentialLoadBytesMax,
  credentialTextBytesMax,
  loadMembersMax,
} from "../../limits.ts";
import { headOf, mapEntries } from "../../wire/walk.ts";
import type { CredentialTask } from "../credentials/contract/credential.ts";
import type { Caller } from "../messages/deferred.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { bytesOf, fieldBytes, isCollection, scalarOf, textOf } from "./fields.ts";
import { keyOwner } from "./key-owner.ts";
import { type OperatorCommand, operatorRefusal } from "./operator-refusal.ts";

/** A map that may hold credentials: the load itself, or a publish's `kwargs`. */
type Fields = Pick<Opened, "load" | "entries">;

/** @returns undefined for an unknown command */
export function handleClear(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer | undefined {
  switch (opened.cmd) {
    case "ping":
      // Any client may send a ping, so its load is echoed without decoding.
      return { packed: opened.load };
    case "publish":
      return handlePublish(worker, batch, opened);
    case "runner":
    case "wheel":
      return handleCommand(worker, batch, opened, opened.cmd);
    case "mk_token":
      return handleMakeToken(worker, batch, opened);
    case "get_token":
      return handleReadToken(worker, batch, opened);
    default:
      return undefined;
  }
}

function handlePublish(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const caller = callerOf(worker, batch, opened, kwargsOf(opened));
  if ("kind" in caller) {
    const client = forwardedFrom(worker, batch, opened);
    return { deferred: { kind: "publish", load: Uint8Array.from(opened.load), caller, ...client } };
  }
  return refuse(worker, batch, opened, "publish", caller.refused);
}

function handleCommand(worker: WorkerState, batch: BatchEffects, opened: Opened, command: "runner" | "wheel"): Answer {
  const caller = callerOf(worker, batch, opened, opened);
  if ("kind" in caller) {
    const client = forwardedFrom(worker, batch, opened);
    return { deferred: { kind: "command", command, load: Uint8Array.from(opened.load), caller, ...client } };
  }
  return refuse(worker, batch, opened, command, caller.refused);
}

function refuse(
  worker: WorkerState,
  batch: BatchEffects,
  { load, entries }: Opened,
  command: OperatorCommand,
  refused: Caller["kind"],
): Answer {
  worker.count("refused.credential");
  const { audit_log: auditLog, user: masterUser } = worker.start.config;
  if (refused === "key" && auditLog !== "") {
    const short = (name: string) => textOf(load, entries, name)?.slice(0, auditTextLengthMax);
    batch.noteWrongKey({ command, user: short("user") ?? masterUser, fun: short("fun") ?? "" });
  }
  return { value: operatorRefusal(command, refused) };
}

function handleMakeToken(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const credential = credentialIn(opened);
  // Any client may send this, so that lists and maps are refused by their heads.
  if (credential === undefined || isCollection(opened.load, opened.entries, "token_expire")) {
    worker.count("refused.credential");
    return { value: "" };
  }
  const asked = scalarOf(opened.load, opened.entries, "token_expire");
  const expireSeconds = typeof asked === "number" ? asked : undefined;
  return { deferred: { kind: "makeToken", credential, expireSeconds, ...forwardedFrom(worker, batch, opened) } };
}

function handleReadToken(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  if (!has(opened, "token")) return { value: false };
  const token = boundedText(opened, "token");
  if (token === undefined) return { value: new Map() };
  return { deferred: { kind: "readToken", token, ...forwardedFrom(worker, batch, opened) } };
}

/** The HTTP client that the API process names. Without that process's key a request cannot name another address than its own. */
function forwardedFrom(
  worker: WorkerState,
  batch: BatchEffects,
  { load, entries }: Opened,
): { readonly clientAddress?: string } {
  const address = boundedText({ load, entries }, "client_address");
  if (address === undefined || isIP(address) === 0 || textOf(load, entries, "user") !== apiKeyUser) return {};
  if (keyOwner(worker.start, apiKeyUser, bytesOf(load, entries, "key")) === undefined) return {};
  batch.proven[batch.item] = 1;
  return { clientAddress: address };
}

/** The `kwargs` of a publish, where Salt's clients put its token or password. If both are absent, the key counts. */
function kwargsOf(opened: Opened): Fields {
  const load = fieldBytes(opened.load, opened.entries, "kwargs");
  if (load === undefined || headOf(load, 0).kind !== "map") return { load: opened.load, entries: [] };
  return { load, entries: mapEntries(load, loadMembersMax) };
}

/**
 * The client with its first credential in the order token, password, key; or the kind of a refused one. Only the key is checked here.
 */
function callerOf(
  worker: WorkerState,
  batch: BatchEffects,
  opened: Opened,
  fields: Fields,
): Caller | { readonly refused: Caller["kind"] } {
  const { user: masterUser } = worker.start.config;
  const claimed = textOf(opened.load, opened.entries, "user") ?? masterUser;
  if (has(fields, "token")) {
    const token = boundedText(fields, "token");
    // A large load with an unknown token is refused at once, so that it does not wait for the main thread's check.
    const isWorthALook =
      opened.load.byteLength <= clearFrameBytesMax || (token !== undefined && worker.knowsToken(token));
    return token === undefined || !isWorthALook ? { refused: "token" } : { kind: "token", user: claimed, token };
  }
  if (has(fields, "eauth")) {
    const credential = opened.load.byteLength > credentialLoadBytesMax ? undefined : credentialIn(fields);
    return credential === undefined ? { refused: "eauth" } : { kind: "eauth", user: claimed, credential };
  }
  const key = bytesOf(opened.load, opened.entries, "key");
  const owner = keyOwner(worker.start, claimed, key);
  // The key of the API process stands for no user: its clients bring a token or a password.
  if (owner === undefined || owner === apiKeyUser) return { refused: "key" };
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

/** The text of `key`; undefined if it exceeds `credentialTextBytesMax`, because any client on the network may send one. */
function boundedText({ load, entries }: Fields, key: string): string | undefined {
  const text = textOf(load, entries, key);
  return text === undefined || Buffer.byteLength(text) > credentialTextBytesMax ? undefined : text;
}
