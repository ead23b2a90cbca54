// Sends e-mail with nodemailer; prints what the server accepted and how it refused.
import { createRequire } from "node:module";

const [folder, port, user, pass, certificate, own, to, tlsPort, tlsCertificate] = process.argv.slice(2);
const nodemailer = createRequire(`${folder}/package.json`)("nodemailer");
const connection = { host: "127.0.0.1", port: Number(port), requireTLS: true, tls: { ca: certificate, servername: "localhost" } };
const transport = nodemailer.createTransport({ ...connection, auth: { user, pass } });
const secure = nodemailer.createTransport({
  host: "127.0.0.1", port: Number(tlsPort), secure: true, tls: { ca: tlsCertificate, servername: "localhost" }, auth: { user, pass },
});
const wrong = nodemailer.createTransport({ ...connection, auth: { user, pass: "wrong" } });

async function attempt(sender, message) {
  try {
    const { accepted, rejected, response } = await sender.sendMail(message);
    return { accepted, rejected, code: Number(response.slice(0, 3)) };
  } catch (error) {
    return { code: error.responseCode, command: error.command };
  }
}

const output = {
  sent: await attempt(transport, {
    from: `"Front Desk" <${own}>`, to: `"Ana Lima" <${to}>`, bcc: "hidden@home.example", subject: "Résumé – 予約 ✓",
    text: "Grüße\n.\n..dots\n" + "long ".repeat(400), html: "<p>Grüße</p>",
    attachments: [{ filename: "Übersicht.pdf", content: Buffer.alloc(100000, 7) }],
  }),
  secure: await attempt(secure, {
    from: own, to, subject: "Card", html: '<img src="cid:card@clinic.example">',
    attachments: [{ filename: "card.png", content: Buffer.from("PNG"), cid: "card@clinic.example" }],
  }),
  partly: await attempt(transport, { from: own, to: [to, "nobody@clinic.example"], text: "x" }),
  spoofed: await attempt(transport, { from: "spy@evil.example", to, text: "x", envelope: { from: own, to } }),
  foreign: await attempt(transport, { from: "spy@evil.example", to, text: "x" }),
  large: await attempt(transport, { from: own, to, text: "x", attachments: [{ content: Buffer.alloc(30_000_000) }] }),
  login: await attempt(wrong, { from: own, to, text: "x" }),
};
console.log(JSON.stringify(output));
transport.close();
