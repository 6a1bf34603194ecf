import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sentNumericKeysMax, sentValuesMax } from "../../../src/limits.ts";
import { fieldsOfLoad } from "../../../src/master/operators/operator-load.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { countingKeys, numbered } from "../../wire/counting-keys.ts";

const restricted = { grants: ["test.*"] };
const free = { grants: undefined };

describe("the load of an operator's request", () => {
  it("of a restricted user holds a list of 100,000 ids, and is refused with the reason beyond its bounds", async () => {
    const ids = Array.from({ length: 100_000 }, (_, at) => `minion-${at}`);
    const publish = (arg: Encodable) => encode({ cmd: "publish", fun: "test.ping", tgt: ids, arg, kwargs: {} }, "raw");
    assert.ok(fieldsOfLoad(publish([1, { k: [numbered(sentNumericKeysMax)] }]), restricted) instanceof Map);
    const keysLoad = publish([numbered(5_000)]);
    const { result, keys } = await countingKeys(async () => fieldsOfLoad(keysLoad, restricted));
    assert.equal(result, `the request holds too many keys that are numbers: at most ${sentNumericKeysMax}`);
    assert.ok(keys <= sentNumericKeysMax, `${keys}`);
    assert.match(String(fieldsOfLoad(publish(new Array(sentValuesMax).fill(0)), restricted)), /too many values/);
    assert.match(String(fieldsOfLoad(publish(new Array(20_000).fill({})), restricted)), /too many lists and maps/);
  });

  it("of an unrestricted user has the general bounds", () => {
    const load = encode({ fun: "f", arg: [numbered(5_000), new Array(200_000).fill({})] }, "raw");
    assert.ok(fieldsOfLoad(load, free) instanceof Map);
    assert.match(String(fieldsOfLoad(encode([numbered(20_000)], "raw"), free)), /keys that are numbers/);
  });
});
