import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { minionEventTagBytesMax } from "../../../src/limits.ts";
import { kindOfTag } from "../../../src/workers/requests/event-tags.ts";

const jid = "20261120155553885300";

/** Tags of events that the master, its runners, its key tools, its API and a cluster of Salt's fire. */
const masters = [
  jid,
  `${jid}_4711`,
  "new_job",
  "key",
  "rotate_cluster_aes_key",
  "salt",
  `salt/job/${jid}`,
  `salt/job/${jid}/new`,
  `salt/job/${jid}/publish`,
  `salt/job/${jid}/error`,
  `salt/job/${jid}/return`,
  `salt/job/${jid}/ret`,
  `salt/job/${jid}/ret/web1`,
  `salt/job/${jid}/ret/web2`,
  `salt/job/${jid}/sub/web2/error/state.apply`,
  "salt/job/a/b/new",
  "salt/auth",
  "salt/auth/creds",
  "salt/key",
  "salt/presence/present",
  "salt/presence/change",
  `salt/run/${jid}/new`,
  `salt/run/${jid}/ret`,
  `salt/run/${jid}/progress`,
  `salt/wheel/${jid}/new`,
  `salt/wheel/${jid}/ret`,
  "salt/wheel/a/b/return",
  "salt/cloud/vm/created",
  "salt/cluster/peer/m2",
  "cluster/peer/m2",
  "salt/fileserver/roots/update",
  "salt/stats/MWorker-1",
  "salt/queue/jobs/process",
  "salt/netapi/hook/deploy",
  "salt/reactors/manage/list",
  `saltworks/job/${jid}/done`,
  `saltworks/batch/${jid}/started`,
  "saltworks/anything",
];
const ofAnother = [
  "salt/minion/web2/start",
  "salt/minion/web1x/start",
  "salt/minion",
  "salt/beacon/web2/load/",
  "salt/syndic/web2/start",
  "salt/proxy/web2/start",
  "minion/refresh/web2",
  "syndic/web2/anything",
  "saltworks/minion/web2/returner_failed",
  "saltworks/minion",
  `salt/job/${jid}/prog/web2/1`,
  `salt/job/${jid}/prog/web1`,
  `salt/job/${jid}/prog/web1/ret/web2`,
  `salt/job/${jid}/prog/web1/1/2`,
];
const own = [
  "salt/minion/web1/start",
  "salt/beacon/web1/load/",
  "salt/syndic/web1/start",
  "minion/refresh/web1",
  "saltworks/minion/web1/returner_failed",
];
const legacy = ["minion_start", "syndic_start"];
const free = [
  "minion_ping",
  "_salt_error",
  "myco/deploy/done",
  "salted",
  "keys",
  "job",
  "2026",
  "salt/engines/docker_events/create",
  "minion/other",
  `jobs/${jid}`,
  "syndic/web1/salt/whatever",
];

describe("tags of minions' events", () => {
  it("are refused where the master fires them, or where they are about another minion", () => {
    for (const tag of [...masters, ...ofAnother]) assert.equal(kindOfTag(tag, "web1", "strict"), "refused", tag);
  });

  it("are allowed where they are about the sender, or the operator's own", () => {
    for (const tag of [...own, ...legacy]) assert.equal(kindOfTag(tag, "web1", "strict"), "own", tag);
    for (const tag of free) assert.equal(kindOfTag(tag, "web1", "strict"), "free", tag);
    assert.equal(kindOfTag(`salt/job/${jid}/prog/web1/12`, "web1", "strict"), "progress");
  });

  it("are judged without their empty parts", () => {
    for (const tag of [...masters, ...ofAnother]) {
      for (const same of [`/${tag}`, `${tag}/`, `//${tag.replaceAll("/", "///")}//`])
        assert.equal(kindOfTag(same, "web1", "strict"), "refused", same);
    }
    for (const tag of own) assert.equal(kindOfTag(`/${tag.replaceAll("/", "//")}/`, "web1", "strict"), "own", tag);
    for (const tag of ["", "/", "///"]) assert.equal(kindOfTag(tag, "web1", "strict"), "refused");
  });

  it("hold no control characters and are not endless", () => {
    for (const rules of ["strict", "salt"] as const) {
      for (const tag of ["a\n\nb", "a\0", "\u007f", "x".repeat(minionEventTagBytesMax + 1), ""])
        assert.equal(kindOfTag(tag, "web1", rules), "refused");
      assert.equal(kindOfTag("x".repeat(minionEventTagBytesMax), "web1", rules), "free");
    }
  });

  it("follow Salt's list where that is asked for, whose star takes slashes", () => {
    const refused = [
      "salt/key",
      `salt/job/${jid}/new`,
      "salt/job/a/b/new",
      "salt/job//publish",
      "salt/run/x",
      "salt/wheel/a/b/return",
    ];
    for (const tag of [...refused, "salt/cloud/a/b", "salt/cluster/x", "saltworks/job/1/done"])
      assert.equal(kindOfTag(tag, "web1", "salt"), "refused", tag);
    for (const tag of ["salt/auth", `salt/job/${jid}/ret/web2`, "key", jid, "salt/presence/present"])
      assert.equal(kindOfTag(tag, "web1", "salt"), "free", tag);
    assert.equal(kindOfTag("saltworks/minion/web1/returner_failed", "web1", "salt"), "own");
    assert.equal(kindOfTag("saltworks/minion/web2/returner_failed", "web1", "salt"), "refused");
  });
});
