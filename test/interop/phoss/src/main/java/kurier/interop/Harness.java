package kurier.interop;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.EnumSet;

import org.eclipse.jetty.ee10.servlet.DefaultServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

import com.helger.peppol.sml.ISMLInfo;
import com.helger.phoss.smp.CSMPServer;
import com.helger.phoss.smp.domain.SMPMetaManager;
import com.helger.phoss.smp.rest.SMPRestFilter;
import com.helger.phoss.smp.servlet.SMPWebAppListener;

import jakarta.servlet.DispatcherType;

/**
 * phoss SMP with its XML store, as its own web archive puts it together, without the pages. Configuration is what it finds
 * on the class path. Ends when its standard input ends.
 */
public final class Harness
{
  /** What it calls the SML that it is told of. */
  private static final String SML = "Interop";

  /** @param args the folder that is the root of the web application, and the address of the SML */
  public static void main (final String [] args) throws Exception
  {
    final Server server = new Server (new InetSocketAddress ("127.0.0.1", 0));
    final ServletContextHandler context = new ServletContextHandler ("/", ServletContextHandler.SESSIONS);
    context.setBaseResourceAsPath (Path.of (args[0]));
    context.addEventListener (new SMPWebAppListener ());
    context.addFilter (SMPRestFilter.class, "/*", EnumSet.of (DispatcherType.REQUEST));
    context.addServlet (DefaultServlet.class, "/");
    server.setHandler (context);
    server.start ();
    register (args[1]);

    final int port = ((ServerConnector) server.getConnectors ()[0]).getLocalPort ();
    System.out.println ("READY " + port + " " + CSMPServer.getVersionNumber ());
    System.out.flush ();
    while (System.in.read () >= 0)
    {
      // Until our parent closes the pipe, or dies.
    }
    server.stop ();
    System.exit (0);
  }

  /** What an administrator enters on the pages for SMLs and for the settings of the SMP. */
  private static void register (final String url)
  {
    final ISMLInfo sml = SMPMetaManager.getSMLInfoMgr ().createSMLInfo (SML, "participant.test.", url, true);
    final boolean isDirectoryUsed = false;
    SMPMetaManager.getSettingsMgr ()
                  .updateSettings (false,
                                   isDirectoryUsed,
                                   isDirectoryUsed,
                                   isDirectoryUsed,
                                   "https://directory.invalid",
                                   true,
                                   true,
                                   sml.getID ());
  }

  private Harness ()
  {}
}
