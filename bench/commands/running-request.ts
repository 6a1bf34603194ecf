/** Parses the options of `saltworks bench` about a master that runs already. */
import { isIP } from "node:net";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { requestAddress, requestEndpoint } from "../../src/client/request-port.ts";
import { loadMasterConfig } from "../../src/config/load.ts";
import { SaltworksError } from "../../src/errors.ts";
import { isThisMachine } from "../fleet/this-machine.ts";
import type { ParameterValues } from "../results/schema.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import type { RunningMaster } from "../scenarios/setup/running-master.ts";

type BenchOptions = OptionsOf<"bench">;

const portMax = 65_535;

/**
 * Undefined without `--master` and `--config-dir`: the bench starts a master of its own.
 *
 * @throws SaltworksError USAGE for an option that needs `--master`, or that goes with a master of its own only
 */
export function readRunningMaster(options: BenchOptions): RunningMaster | undefined {
  const { configDir, keyDirectory, master, metrics, pid, ports } = options;
  if (master === undefined && configDir === undefined) {
    const lonely = Object.entries({ "--ports": ports, "--pid": pid, "--metrics": metrics, "--keys": keyDirectory });
    const given = lonely.find(([, value]) => value !== undefined);
    if (given === undefined) return undefined;
    throw new SaltworksError("USAGE", `${given[0]} is about a master that runs already: name it with --master HOST`);
  }
  refuseOwn(options);
  const host = master === undefined ? hostOf(configDir ?? "") : readHost(master);
  for (const [option, value] of Object.entries({ "--config-dir": configDir, "--pid": pid })) {
    if (value === undefined || isThisMachine(host)) continue;
    throw new SaltworksError("USAGE", `${option} is about a master on this machine, and ${host} is another one`);
  }
  return {
    host,
    ...(ports === undefined ? {} : { ports: readPorts(ports) }),
    ...(configDir === undefined ? {} : { configDirectory: configDir }),
    ...(pid === undefined ? {} : { processId: pid }),
    ...(metrics === undefined ? {} : { metricsUrl: readUrl(metrics) }),
    ...(keyDirectory === undefined ? {} : { keyDirectory }),
  };
}

/** @throws SaltworksError USAGE for a scenario that needs a master of its own */
export function demandRunsAnywhere({ name, ownMaster }: Scenario<ParameterValues>): void {
  if (ownMaster === undefined) return;
  throw new SaltworksError(
    "USAGE",
    `${name} ${ownMaster}, so it does not run against a master that runs already: leave --master and --config-dir out`,
  );
}

function refuseOwn({ against, masterConfig, members, salt, workers }: BenchOptions): void {
  const masters = { "--against": against, "--members": members, "--salt": salt };
  const own = { ...masters, "--master-config": masterConfig, "--workers": workers };
  const given = Object.entries(own).find(([, value]) => value !== undefined);
  if (given === undefined) return;
  throw new SaltworksError("USAGE", `${given[0]} is about masters that the bench starts; the given one runs already`);
}

/** As operators' commands find the master of a configuration. */
function hostOf(configDir: string): string {
  return requestAddress(requestEndpoint(loadMasterConfig(configDir))).host;
}

function readHost(text: string): string {
  const bare = text.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) === 6 || /^[\w.-]+$/.test(text)) return bare;
  throw new SaltworksError("USAGE", `--master takes a host name or address without a port (--ports), not '${text}'`);
}

/** As Salt orders them: `publish_port`, `ret_port`. */
function readPorts(text: string): NonNullable<RunningMaster["ports"]> {
  const [publish = 0, request = 0, ...more] = text.split(",").map(Number);
  const areRight = [publish, request].every((port) => Number.isInteger(port) && port >= 1 && port <= portMax);
  if (areRight && more.length === 0) return { publish, request };
  throw new SaltworksError("USAGE", `--ports takes PUBLISH,REQUEST such as 4505,4506, not '${text}'`);
}

function readUrl(text: string): string {
  const whole = /^https?:\/\//.test(text) ? text : `http://${text}`;
  if (!URL.canParse(whole)) {
    throw new SaltworksError("USAGE", `--metrics takes a URL such as http://master:9149/metrics, not '${text}'`);
  }
  const url = new URL(whole);
  if (url.pathname === "/") url.pathname = "/metrics";
  return url.href;
}
