/** Backend `file`: users and passwords in a text file or in Apache's htpasswd or htdigest file. Settings and formats follow Salt's backend `file`. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { backendSetting } from "../../config/external-auth.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import { isPasswordOf } from "../../crypto/password-hash.ts";
import { checkSlowHash, slowHashForms } from "../../crypto/slow-hash.ts";
import { credentialFileBytesMax } from "../../limits.ts";
import {
  authentic,
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "./contract/credential.ts";

const digests: readonly string[] = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const hashtypes: readonly string[] = ["plaintext", ...digests, ...Object.keys(slowHashForms)];

export async function checkFile(config: CredentialConfig, task: CredentialTask): Promise<CredentialResult> {
  const setting = (name: string, otherwise: string) =>
    String(backendSetting(config.externalAuth, "file", name) ?? otherwise);
  const file = setting("filename", "");
  if (file === "") return faulty("external_auth:file needs ^filename");
  const read = await readUsers(file);
  if ("fault" in read) return faulty(read.fault);
  switch (setting("filetype", "text")) {
    case "htpasswd":
      return await checkHtpasswd(read.lines, task);
    case "htdigest":
      return checkHtdigest(read.lines, setting("realm", ""), task);
    case "text":
      return await checkText(read.lines, task, {
        hashtype: setting("hashtype", "plaintext"),
        separator: setting("field_separator", ":"),
        usernameField: Number(setting("username_field", "1")),
        passwordField: Number(setting("password_field", "2")),
      });
    default:
      return faulty(`external_auth:file: ^filetype is text, htpasswd or htdigest, not '${setting("filetype", "")}'`);
  }
}

/** Reads the file each time, as Salt does, so that added and removed users count at once. */
async function readUsers(file: string): Promise<{ readonly lines: string[] } | { readonly fault: string }> {
  try {
    const { size } = await stat(file);
    if (size > credentialFileBytesMax) return { fault: `${file} has more than ${credentialFileBytesMax} bytes` };
    const text = await readFile(file, "utf8");
    return { lines: text.split(/\r?\n/).map((line) => line.trim()) };
  } catch (error) {
    return { fault: `${file} cannot be read: ${(error as Error).message}` };
  }
}

type TextForm = {
  readonly hashtype: string;
  readonly separator: string;
  readonly usernameField: number;
  readonly passwordField: number;
};

async function checkText(
  lines: readonly string[],
  { username, password }: CredentialTask,
  form: TextForm,
): Promise<CredentialResult> {
  const { hashtype } = form;
  if (hashtype !== "plaintext" && !digests.includes(hashtype) && !isSlow(hashtype))
    return faulty(`external_auth:file: ^hashtype is ${hashtypes.join(", ")}, not '${hashtype}'`);
  let kept: string | undefined;
  for (const line of lines) {
    if (line === "") continue;
    const fields = line.split(form.separator);
    const [name, hash] = [fields[form.usernameField - 1], fields[form.passwordField - 1]];
    if (name === undefined || hash === undefined) return faulty("external_auth:file: a line lacks one of the fields");
    // Only the user's first line counts.
    if (name === username) kept ??= hash;
  }
  if (!isSlow(hashtype)) {
    const given = hashtype === "plaintext" ? password : createHash(hashtype).update(password, "utf8").digest("hex");
    return kept !== undefined && equalSecrets(kept, given) ? authentic : refused;
  }
  if (kept !== undefined && !slowHashForms[hashtype].test(kept))
    return faulty(`external_auth:file: a password is not hashed with ${hashtype}, as ^hashtype says`);
  const isAnyHash = (text: string) => slowHashForms[hashtype].test(text);
  const others = lines.map((line) => line.split(form.separator)[form.passwordField - 1] ?? "");
  return await checkHash(kept, others.find(isAnyHash), password);
}

function isSlow(hashtype: string): hashtype is keyof typeof slowHashForms {
  return Object.hasOwn(slowHashForms, hashtype);
}

async function checkHtpasswd(
  lines: readonly string[],
  { username, password }: CredentialTask,
): Promise<CredentialResult> {
  const kept = username.includes(":") ? undefined : entryOf(lines, `${username}:`);
  const another = lines.find((line) => line !== "")?.replace(/^[^:]*:/, "");
  return await checkHash(kept, another, password);
}

/** For an unknown user another user's hash is checked, so that the time does not reveal which names there are. */
async function checkHash(
  kept: string | undefined,
  another: string | undefined,
  password: string,
): Promise<CredentialResult> {
  const hash = kept ?? another;
  const isRight = hash === undefined ? false : await (checkSlowHash(hash, password) ?? isPasswordOf(hash, password));
  if (kept === undefined) return refused;
  if (typeof isRight === "object") return faulty(`external_auth:file: ${isRight.refused}`);
  if (isRight === undefined)
    return faulty(
      "external_auth:file: a password is hashed in a form that is not available; available are bcrypt (htpasswd -B), apr1 and MD5 (htpasswd -m), SHA-256 and SHA-512 (htpasswd -2, -5), {SHA} (htpasswd -s) and argon2id",
    );
  return isRight ? authentic : refused;
}

function checkHtdigest(
  lines: readonly string[],
  realm: string,
  { username, password }: CredentialTask,
): CredentialResult {
  if (realm === "") return faulty("external_auth:file needs ^realm for htdigest");
  const kept = entryOf(lines, `${username}:${realm}:`);
  if (kept === undefined || username.includes(":")) return refused;
  const given = createHash("md5").update(`${username}:${realm}:${password}`, "utf8").digest("hex");
  return equalSecrets(kept, given) ? authentic : refused;
}

/** The rest of the line that begins with `start`. */
function entryOf(lines: readonly string[], start: string): string | undefined {
  return lines.find((line) => line.startsWith(start))?.slice(start.length);
}
