/** Backend `file`: users and passwords in a text file or in Apache's htpasswd or htdigest file. Settings and formats follow Salt's backend `file`. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { backendSetting } from "../../config/external-auth.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import { isPasswordOf } from "../../crypto/password-hash.ts";
import { credentialFileBytesMax } from "../../limits.ts";
import {
  authentic,
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "./contract.ts";

const digests: readonly string[] = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];

export async function checkFile(config: CredentialConfig, task: CredentialTask): Promise<CredentialResult> {
  const setting = (name: string, otherwise: string) =>
    String(backendSetting(config.externalAuth, "file", name) ?? otherwise);
  const file = setting("filename", "");
  if (file === "") return faulty("external_auth:file needs ^filename");
  const read = await readUsers(file);
  if ("fault" in read) return faulty(read.fault);
  switch (setting("filetype", "text")) {
    case "htpasswd":
      return checkHtpasswd(read.lines, task);
    case "htdigest":
      return checkHtdigest(read.lines, setting("realm", ""), task);
    case "text":
      return checkText(read.lines, task, {
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

function checkText(lines: readonly string[], { username, password }: CredentialTask, form: TextForm): CredentialResult {
  const isPlain = form.hashtype === "plaintext";
  if (!isPlain && !digests.includes(form.hashtype))
    return faulty(`external_auth:file: ^hashtype is plaintext or one of ${digests.join(", ")}, not '${form.hashtype}'`);
  const given = isPlain ? password : createHash(form.hashtype).update(password, "utf8").digest("hex");
  for (const line of lines) {
    if (line === "") continue;
    const fields = line.split(form.separator);
    const [name, kept] = [fields[form.usernameField - 1], fields[form.passwordField - 1]];
    if (name === undefined || kept === undefined) return faulty("external_auth:file: a line lacks one of the fields");
    // Only the user's first line counts.
    if (name === username) return equalSecrets(kept, given) ? authentic : refused;
  }
  return refused;
}

function checkHtpasswd(lines: readonly string[], { username, password }: CredentialTask): CredentialResult {
  const hash = entryOf(lines, `${username}:`);
  if (hash === undefined || username.includes(":")) return refused;
  const isRight = isPasswordOf(hash, password);
  if (isRight === undefined)
    return faulty(
      "external_auth:file: a password is hashed in a form that is not available; available are apr1 and MD5 (htpasswd -m), SHA-256 and SHA-512 (htpasswd -2, -5) and {SHA} (htpasswd -s)",
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
