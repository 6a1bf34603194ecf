/** The host of a single call: a session with a master for this call, or this machine's files. Events reach the minion's daemon, if it runs. */
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { fireOnBus } from "../bus/fire.ts";
import type { Host } from "../functions/host.ts";
import type { PillarOptions } from "../functions/module-contract.ts";
import { openIdentity } from "../session/identity.ts";
import { masterAddresses } from "../session/master-address.ts";
import { MasterLink } from "../session/master-link.ts";
import { requestPillar } from "../session/pillar.ts";
import type { Load } from "../session/session.ts";

export type CallHost = Host & {
  readonly pillar: ValueMap;
  /** Sends the result to the master as the return of a separate job. Does nothing without a master. Logs a failure. */
  sendReturn(members: Load): Promise<void>;
  close(): void;
};

/** Renders the pillar from this machine's own files, for calls without a master. */
export type LocalPillar = (grains: ValueMap, options: PillarOptions) => ValueMap | Promise<ValueMap>;

/** @throws SaltworksError of the last master's sign-in or pillar if no master accepts this minion */
export async function openCallHost(
  config: MinionConfig,
  grains: ValueMap,
  log: Logger,
  localPillar: LocalPillar = () => new Map(),
): Promise<CallHost> {
  const fireMinion = (tag: string, data: Encodable) => fireIfHeard(config, tag, data, log);
  const isLocal = config.file_client === "local" || config.master_type === "disable";
  if (isLocal) return await localHost(fireMinion, (options) => localPillar(grains, options));
  const { link, pillar } = await connect(config, grains, log);
  return {
    pillar,
    fireMinion,
    fireMaster: (tag, data) => link.fireLoneEvent(tag, data),
    setGrains: async () => undefined,
    masterRequest: (load) => link.ask(load),
    compilePillar: (options) => requestPillar(link.session, config, grains, options),
    sendReturn: async (members) => {
      try {
        await link.session.request({ cmd: "_return", id: config.id, ...members });
      } catch (error) {
        log.warn({ err: error }, "the result did not reach the master");
      }
    },
    close: () => link.close(),
  };
}

async function connect(
  config: MinionConfig,
  grains: ValueMap,
  log: Logger,
): Promise<{ link: MasterLink; pillar: ValueMap }> {
  const identity = await openIdentity(config);
  let failure: unknown;
  for (const address of masterAddresses(config)) {
    const link = new MasterLink({
      config,
      identity,
      log,
      address,
      grains: () => grains,
      onEnd: () => undefined,
      isOneTry: true,
    });
    try {
      await link.session.authenticate();
      return { link, pillar: await requestPillar(link.session, config, grains) };
    } catch (error) {
      link.close();
      failure = error;
    }
  }
  throw failure;
}

async function localHost(
  fireMinion: Host["fireMinion"],
  compile: (options: PillarOptions) => ReturnType<LocalPillar>,
): Promise<CallHost> {
  const noMaster = () => Promise.reject(new SaltworksError("MASTER_UNREACHABLE", "this call runs without a master"));
  return {
    pillar: await compile({}),
    fireMinion,
    fireMaster: async () => false,
    setGrains: async () => undefined,
    masterRequest: noMaster,
    compilePillar: async (options = {}) => await compile(options),
    sendReturn: async () => undefined,
    close: () => undefined,
  };
}

/** Fires on the daemon's bus. Drops the event if the daemon does not run, because then it has no reader. */
async function fireIfHeard(config: MinionConfig, tag: string, data: Encodable, log: Logger): Promise<void> {
  try {
    await fireOnBus(config, tag, data);
  } catch (error) {
    if (!hasCode(error, "MASTER_UNREACHABLE")) throw error;
    log.debug({ tag }, "no minion daemon runs; an event for its bus is dropped");
  }
}
