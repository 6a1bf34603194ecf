/** Puts returns and prints which were acknowledged, for return-log.test.ts, which disturbs its system calls. */
import { writeSync } from "node:fs";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { returnOf } from "../../contract/job-samples.ts";

const [path = "", jid = "", batches = "1", perBatch = "1", together = "1", textBytes = "0"] = process.argv.slice(2);
const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", onFault: () => writeSync(1, "fault\n") });

async function put(batch: number): Promise<void> {
  const records = Array.from({ length: Number(perBatch) }, (_, index) =>
    returnOf(jid, `m${batch}-${index}`, Number(textBytes) > 0 ? "x".repeat(Number(textBytes)) : true),
  );
  try {
    const outcomes = await cache.keepReturns(records);
    writeSync(1, `${outcomes[0] ?? ""} ${batch}\n`);
  } catch (error) {
    writeSync(1, `${(error as { code?: string }).code} ${batch}\n`);
  }
}

for (let batch = 0; batch < Number(batches); batch += Number(together)) {
  const group = Array.from({ length: Number(together) }, (_, index) => put(batch + index));
  await Promise.all(group);
  // LMDB's transactions come after the acknowledgement.
  await new Promise((resolve) => setImmediate(resolve));
}
await cache.close();
writeSync(1, "closed\n");
