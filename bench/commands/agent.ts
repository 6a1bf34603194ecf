/** `saltworks bench agent`: lends this machine to a bench on another one, until Ctrl-C. */
import type { Host } from "../../src/cli/host/host.ts";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { SaltworksError } from "../../src/errors.ts";
import { addressText, agentPortDefault, parseAddress, parseAgents } from "../agents/addresses.ts";
import { Agent } from "../agents/agent.ts";
import type { AgentsChoice } from "../agents/agents.ts";
import { readAgentKey, writeNewSecret } from "../agents/secret.ts";
import { localHost } from "../fleet/storm/local-host.ts";
import { thisTool } from "../machine.ts";
import type { ParameterValues } from "../results/schema.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import { stormDefaults } from "../scenarios/setup/storm-setup.ts";

type BenchOptions = OptionsOf<"bench">;

const addressDefault = { host: "127.0.0.1", port: agentPortDefault };

/** @returns 0 @throws SaltworksError USAGE, PORT_UNUSABLE */
export async function agentCommand(words: readonly string[], options: BenchOptions, host: Host): Promise<number> {
  const { newSecretFile, secretFile, listen } = options;
  if (words.length > 0) throw new SaltworksError("USAGE", `agent takes no words; '${words.join(" ")}' is too much`);
  if (newSecretFile !== undefined) {
    writeNewSecret(newSecretFile);
    host.write(`${newSecretFile}: a new secret. Copy it to the hosts of the agents; only its owner may read it.\n`);
    return 0;
  }
  if (secretFile === undefined) {
    throw new SaltworksError("USAGE", "agent needs --secret FILE; saltworks bench agent --new-secret FILE writes one");
  }
  const interrupted = new Promise<void>((resolve) => {
    host.onInterrupt(resolve, ["SIGINT", "SIGTERM", "SIGHUP"]);
  });
  const here = localHost();
  const agent = await Agent.open({
    address: listen === undefined ? addressDefault : parseAddress("--listen", listen),
    key: readAgentKey(secretFile),
    version: thisTool().version,
    host: here,
    tell: (line) => host.complain(`${new Date().toISOString()} ${line}\n`),
  });
  host.write(`saltworks bench agent on ${addressText(agent.address)}: ${here.cores} cores. Ctrl-C ends it.\n`);
  await interrupted;
  await agent.close();
  return 0;
}

/** The agents that the command line names. @throws SaltworksError USAGE, also for a scenario that cannot use them */
export function readAgents(scenario: Scenario<ParameterValues>, options: BenchOptions): AgentsChoice | undefined {
  const { agents, agentSecret } = options;
  if (agents === undefined) {
    if (agentSecret === undefined) return undefined;
    throw new SaltworksError("USAGE", "--agent-secret means something with --agents only");
  }
  if (Object.keys(stormDefaults).some((name) => !(name in scenario.defaults))) {
    throw new SaltworksError("USAGE", `${scenario.name} cannot use --agents: its load is not a storm of minions`);
  }
  if (agentSecret === undefined) throw new SaltworksError("USAGE", "--agents needs --agent-secret FILE");
  return { addresses: parseAgents("--agents", agents), key: readAgentKey(agentSecret) };
}
