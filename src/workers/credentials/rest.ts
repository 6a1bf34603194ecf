/** Backend `rest`: a web service checks user and password. Its grants add to those in `external_auth`. */
import { backendConfig, backendSetting } from "../../config/external-auth.ts";
import { restAnswerBytesMax, restTimeoutMs } from "../../limits.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Encodable } from "../../wire/values.ts";
import {
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "./contract/credential.ts";

export async function checkRest(config: CredentialConfig, task: CredentialTask): Promise<CredentialResult> {
  const url = backendSetting(config.externalAuth, "rest", "url");
  if (typeof url !== "string" || !URL.canParse(url))
    return faulty("external_auth:rest needs the address of a service as ^url");
  const { username, password } = task;
  try {
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams({ username, password }),
      // A redirect would send the password to another server.
      redirect: "error",
      signal: AbortSignal.timeout(restTimeoutMs),
    });
    if (response.status !== 200) return refused;
    const text = await boundedText(response);
    const answer: unknown = text.trim() === "" ? [] : JSON.parse(text);
    if (answer !== null && !Array.isArray(answer)) return faulty("external_auth:rest: the answer is not a list");
    const users = backendConfig(config.externalAuth, "rest") ?? {};
    const own = Object.hasOwn(users, username) ? users[username] : undefined;
    const grants = [...(Array.isArray(own) ? own : []), ...(answer ?? [])] as Encodable[];
    return { isAuthentic: true, groups: [], ...(grants.length > 0 ? { grants: encode(grants, "bin") } : {}) };
  } catch (error) {
    return faulty(`external_auth:rest: ${new URL(url).origin} gave no valid answer: ${(error as Error).message}`);
  }
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > restAnswerBytesMax) throw new Error(`an answer of more than ${restAnswerBytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
