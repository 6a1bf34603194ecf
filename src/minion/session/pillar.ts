/** Asks the master for this minion's pillar. Source: docs/protocol.md sections 2.3 and 7.1. */
import type { MinionConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { PillarOptions } from "../functions/module-contract.ts";
import type { Session } from "./session.ts";

/** @throws SaltworksError REQUEST_REFUSED if the answer is not a pillar, and what the session throws */
export async function requestPillar(
  session: Pick<Session, "requestPrivate">,
  config: Pick<MinionConfig, "id" | "saltenv" | "pillarenv">,
  grains: ValueMap,
  options: PillarOptions & { readonly isCacheCleaned?: boolean } = {},
): Promise<ValueMap> {
  const pillar = await session.requestPrivate({
    id: config.id,
    grains,
    saltenv: options.saltenv ?? config.saltenv,
    pillarenv: options.pillarenv ?? config.pillarenv,
    pillar_override: options.override ?? {},
    extra_minion_data: {},
    ver: "2",
    cmd: "_pillar",
    clean_cache: options.isCacheCleaned ? true : undefined,
  });
  if (pillar instanceof Map) return pillar;
  throw new SaltworksError("REQUEST_REFUSED", "the master's pillar is not a map");
}
