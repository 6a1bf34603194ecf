/** A gpg home directory with one secret key without a passphrase, and one with a key that the first does not have. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Keyring {
  readonly directory = mkdtempSync(join(tmpdir(), "gpg-"));

  constructor() {
    chmodSync(this.directory, 0o700);
    this.#gpg(["--passphrase", "", "--quick-generate-key", "salt@example.org", "rsa2048", "encrypt,sign", "never"]);
  }

  /** An armoured message for this key. */
  encrypt(content: string | Buffer): string {
    const options = ["--armor", "--trust-model", "always", "--recipient", "salt@example.org", "--encrypt"];
    return this.#gpg(options, content).trimEnd();
  }

  remove(): void {
    try {
      execFileSync("gpgconf", ["--homedir", this.directory, "--kill", "all"], { stdio: "ignore" });
    } finally {
      rmSync(this.directory, { recursive: true, force: true });
    }
  }

  #gpg(words: readonly string[], input: string | Buffer = ""): string {
    const all = ["--homedir", this.directory, "--batch", "--no-tty", ...words];
    return execFileSync("gpg", all, { input, stdio: ["pipe", "pipe", "ignore"] }).toString("latin1");
  }
}

/** YAML's block form of a message under a key, or in a list. */
export function block(message: string, columns: number): string {
  const indent = " ".repeat(columns);
  return `|\n${message
    .split("\n")
    .map((line) => `${indent}${line}\n`)
    .join("")}`;
}
