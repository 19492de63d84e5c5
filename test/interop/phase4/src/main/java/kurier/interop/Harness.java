package kurier.interop;

import java.io.File;
import java.net.InetSocketAddress;

import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

import com.helger.base.debug.GlobalDebug;
import com.helger.phase4.CAS4Version;
import com.helger.phase4.dump.AS4DumpManager;
import com.helger.phase4.dump.AS4IncomingDumperFileBased;
import com.helger.phase4.incoming.AS4ServerInitializer;
import com.helger.phase4.incoming.mgr.AS4ProfileSelector;
import com.helger.phase4.profile.peppol.AS4PeppolProfileRegistarSPI;
import com.helger.photon.io.WebFileIO;
import com.helger.security.revocation.CertificateRevocationCheckerDefaults;
import com.helger.security.revocation.ERevocationCheckMode;
import com.helger.web.scope.mgr.WebScopeManager;

/**
 * phase4 as a second access point: C3 at POST /as4, C2 at POST /control/send. It says READY with its port and its version
 * on standard output and ends with its standard input, so that it cannot outlive the test that started it.
 *
 * Arguments: data folder, key store (PKCS#12, alias "ap"), trust store (PKCS#12), the password of both.
 */
public final class Harness
{
  public static void main (final String [] args) throws Exception
  {
    final File data = new File (args[0]);
    System.setProperty ("global.datapath", data.getAbsolutePath ());
    System.setProperty ("phase4.manager.inmemory", "true");
    System.setProperty ("phase4.dump.path", new File (data, "dumps").getAbsolutePath ());
    // The private authorities offer no revocation information; their certificates are still checked.
    CertificateRevocationCheckerDefaults.setRevocationCheckMode (ERevocationCheckMode.NONE);
    final Keys keys = Keys.load (args[1], args[2], args[3]);

    final Server server = new Server (new InetSocketAddress ("127.0.0.1", 0));
    final ServletContextHandler context = new ServletContextHandler ();
    context.setContextPath ("/");
    context.addServlet (new ServletHolder (new Control (keys)), "/control/*");
    server.setHandler (context);
    context.addEventListener (new Start (data, keys));
    server.start ();

    final int port = ((ServerConnector) server.getConnectors ()[0]).getLocalPort ();
    System.out.println ("READY " + port + " " + CAS4Version.BUILD_VERSION);
    System.out.flush ();
    while (System.in.read () >= 0)
    {
      // Until our parent closes the pipe, or dies.
    }
    server.stop ();
    System.exit (0);
  }

  /** What phase4 wants to be told before its first request. */
  private static final class Start implements jakarta.servlet.ServletContextListener
  {
    private final File data;
    private final Keys keys;

    Start (final File data, final Keys keys)
    {
      this.data = data;
      this.keys = keys;
    }

    @Override
    public void contextInitialized (final jakarta.servlet.ServletContextEvent event)
    {
      // Debug mode is what allows plain HTTP.
      GlobalDebug.setDebugModeDirect (true);
      WebScopeManager.onGlobalBegin (event.getServletContext ());
      WebFileIO.initPaths (data, data.getAbsolutePath (), false);
      AS4ProfileSelector.setCustomDefaultAS4ProfileID (AS4PeppolProfileRegistarSPI.AS4_PROFILE_ID);
      AS4ServerInitializer.initAS4Server ();
      // The raw bytes of what came in and of the answers to what went out.
      AS4DumpManager.setIncomingDumper (AS4IncomingDumperFileBased.createForDirectory (new File (data, "incoming")));
      // Not before: the servlet's constructor asks for the global scope.
      event.getServletContext ().addServlet ("as4", Receiver.servlet (keys)).addMapping ("/as4");
    }
  }

  private Harness ()
  {}
}
