/** The key directory on which salt-key's transcripts were recorded. Source: test/golden/README.md. */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** All keys in it. Their transcripts show fingerprints, which vary. */
export const { publicKey: laboratoryPem } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});

const keys: { readonly [directory: string]: readonly string[] } = {
  minions: ["es1", "es2", "web1.example.com"],
  minions_pre: ["10.40.0.21", "app1.example.com", "app2.example.com", "batch-07"],
  minions_rejected: ["old1.example.com"],
  minions_denied: ["es1"],
};

/** Transcripts before which the recorder restored the first state; each of the others continues from the one before. */
export const laboratoryResets: ReadonlySet<string> = new Set([
  "list_all",
  "accept_glob",
  "accept_all_no",
  "reject_one",
  "delete_prompt_no",
  "quiet_accept",
]);

export function resetLaboratory(pkiDir: string): void {
  rmSync(pkiDir, { recursive: true, force: true });
  for (const [directory, ids] of Object.entries(keys)) {
    mkdirSync(join(pkiDir, directory), { recursive: true });
    for (const id of ids) writeFileSync(join(pkiDir, directory, id), laboratoryPem);
  }
}
