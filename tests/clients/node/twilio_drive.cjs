// Drives the Twilio API with the twilio SDK for Node; prints what it got as JSON.
// Arguments: the folder of the package; the task as JSON on the standard input.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const load = createRequire(`${process.argv[2]}/index.js`);
const twilio = load("twilio");

async function drive([url, sid, token, smsUrl, callback, own, contact, gone]) {
  const client = twilio(sid, token);
  client.api.baseUrl = url;
  const [number] = await client.incomingPhoneNumbers.list({ phoneNumber: own });
  const updated = await client.incomingPhoneNumbers(number.sid).update({ smsUrl }); // items of a list have no context in 6.2.0
  const sent = [];
  for (let n = 0; n < 3; n += 1) {
    sent.push(await client.messages.create({ to: contact, from: own, body: `Message ${n}`, statusCallback: callback }));
  }
  const errors = {};
  const attempt = async (name, work) => {
    try {
      await work();
    } catch (error) {
      errors[name] = [error.status, error.code];
    }
  };
  await attempt("opted_out", () => client.messages.create({ to: gone, from: own, body: "x" }));
  await attempt("bad_to", () => client.messages.create({ to: "banana", from: own, body: "x" }));
  await attempt("service", () => client.messages.create({ to: contact, messagingServiceSid: "MG1", body: "x" }));
  await attempt("unknown", () => client.messages(`SM${"0".repeat(32)}`).fetch());
  const wrong = twilio(sid, "wrong");
  wrong.api.baseUrl = url;
  await attempt("wrong_token", () => wrong.messages.create({ to: contact, from: own, body: "x" }));
  const fetched = await client.messages(sent[0].sid).fetch();
  const streamed = [];
  await new Promise((resolve, reject) => {
    client.messages.each({ to: contact, pageSize: 1, callback: (message) => streamed.push(message.body), done: (error) => (error ? reject(error) : resolve()) });
  });
  const response = new twilio.twiml.MessagingResponse();
  response.message("First & foremost");
  response.message({}).body("Zweite Nachricht: ü");
  return {
    account: (await client.api.accounts(sid).fetch()).status,
    sms_url: updated.smsUrl,
    sent: sent.map((message) => message.sid),
    status: sent[0].status,
    fetched: [fetched.body, fetched.numSegments, fetched.dateCreated instanceof Date],
    list: (await client.messages.list({ pageSize: 2 })).map((message) => message.sid),
    limited: (await client.messages.list({ limit: 2 })).length,
    stream: streamed,
    today: (await client.messages.list({ dateSentAfter: new Date("2020-01-01") })).length,
    errors,
    twiml: response.toString(),
  };
}

async function sendMedia([url, sid, token, own, contact, mediaUrl]) {
  const client = twilio(sid, token);
  client.api.baseUrl = url;
  const sent = await client.messages.create({ to: contact, from: own, body: "Your card", mediaUrl });
  const listed = await client.messages(sent.sid).media.list();
  const fetched = await client.messages(sent.sid).media(listed[0].sid).fetch();
  let refused = [];
  try {
    await client.messages.create({ to: contact, from: own, mediaUrl: ["https://images.example/a.png"] });
  } catch (error) {
    refused = [error.status, error.code];
  }
  const found = listed.map((media) => [media.contentType, media.parentSid === sent.sid]);
  return { num_media: sent.numMedia, list: found, fetched: fetched.uri, refused };
}

function validate([token, requests]) {
  return requests.map((each) => twilio.validateRequest(token, each.signature, each.url, each.form));
}

(async () => {
  const task = JSON.parse(readFileSync(0, "utf8"));
  if (task.media) {
    console.log(JSON.stringify(await sendMedia(task.media)));
    return;
  }
  console.log(JSON.stringify(task.validate ? validate(task.validate) : await drive(task.drive)));
})();
