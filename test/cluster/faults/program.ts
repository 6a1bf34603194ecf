/** Runs a cluster under faults in namespaces of its own, so that its addresses, links and disks end with it. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("run.js", import.meta.url));

/** For `skip` of a test that needs namespaces: why it is skipped, or false. With CI=true nothing is skipped. */
export function namespacesSkip(): string | false {
  if (process.env.CI === "true") return false;
  const { status } = spawnSync("unshare", ["--net", "--mount", "ip", "link", "add", "swtest", "type", "bridge"]);
  return status === 0 ? false : "this user may not make network namespaces, or ip (iproute2) is missing";
}

/** @returns whether everything held */
export async function runFaults(
  options: {
    readonly seconds: number;
    readonly seed: number;
    readonly minions: number;
    readonly isOperatorNats?: boolean;
  },
  tell: (line: string) => void,
): Promise<boolean> {
  const { seconds, seed, minions, isOperatorNats = false } = options;
  const words = [...[seconds, seed, minions].map(String), ...(isOperatorNats ? ["operator-nats"] : [])];
  const command = ["--net", "--mount", process.execPath, "--enable-source-maps", program, ...words];
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn("unshare", command, { stdio: ["ignore", "pipe", "inherit"], env });
  for await (const line of createInterface({ input: child.stdout })) tell(line);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode === 0;
}
