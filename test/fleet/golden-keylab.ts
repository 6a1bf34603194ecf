/** The key directory of its own on which salt-key's transcripts were recorded, and how it was put back now and then. */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeSettings } from "./golden-files.ts";
import type { GoldenFleet } from "./golden-fleet.ts";

const { publicKey: pem } = generateKeyPairSync("rsa", {
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
const resetBefore = new Set([
  "list_all",
  "accept_glob",
  "accept_all_no",
  "reject_one",
  "delete_prompt_no",
  "quiet_accept",
]);

export function keyLabConfigDir(fleet: GoldenFleet): string {
  return join(fleet.root, "keylab/etc");
}

export function prepareKeyLab(fleet: GoldenFleet, name: string): void {
  const lab = join(fleet.root, "keylab");
  if (name === "list_empty") {
    const directories = { pki_dir: join(lab, "pki"), cachedir: join(lab, "cache"), sock_dir: join(lab, "run") };
    writeSettings(join(keyLabConfigDir(fleet), "master"), directories);
  }
  if (!resetBefore.has(name)) return;
  rmSync(join(lab, "pki"), { recursive: true, force: true });
  for (const [directory, ids] of Object.entries(keys)) {
    mkdirSync(join(lab, "pki", directory), { recursive: true });
    for (const id of ids) writeFileSync(join(lab, "pki", directory, id), pem);
  }
}
