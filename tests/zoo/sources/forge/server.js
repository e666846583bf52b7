// node-forge's TLS over Node's TCP. Arguments: address, port, certificate, key.
"use strict";
const fs = require("node:fs");
const net = require("node:net");
const forge = require("node-forge");

const [address, port, certificate, key] = process.argv.slice(2);
const [pem, privateKey] = [certificate, key].map((path) => fs.readFileSync(path, "utf8"));

net.createServer((socket) => {
    const tls = forge.tls.createConnection({
        server: true,
        caStore: [],
        sessionCache: {},
        cipherSuites: [
            forge.tls.CipherSuites.TLS_RSA_WITH_AES_128_CBC_SHA,
            forge.tls.CipherSuites.TLS_RSA_WITH_AES_256_CBC_SHA,
        ],
        verifyClient: false,
        getCertificate: () => pem,
        getPrivateKey: () => privateKey,
        tlsDataReady: (connection) => socket.write(Buffer.from(connection.tlsData.getBytes(), "binary")),
        dataReady: (connection) => connection.data.getBytes(),
        closed: () => socket.end(),
        error: () => socket.end(),
    });
    socket.on("data", (bytes) => { try { tls.process(bytes.toString("binary")); } catch (e) { socket.destroy(); } });
    socket.on("error", () => socket.destroy());
}).listen(Number(port), address);

process.stdin.resume().on("end", () => process.exit(0));
